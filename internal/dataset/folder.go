package dataset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ebsscgo/experiments"
	"ebsscgo/internal/safefile"
)

// Pictures are a person's own: a folder with a subfolder for each class, or with such folders in
// train/ and test/.
type Pictures struct {
	// Folder has them. An empty name stands for none.
	Folder string
	// Side of the images that are made of them, in pixels; Grey makes them of one channel.
	Side int
	Grey bool

	pictures []listed
	tests    int // how many of them are in test/; 0 of undivided ones
	classes  []string
	beside   []string // what lies beside the folders of classes, by its path, and why it is skipped
}

// listed is a picture of a class, by its path in the folder. It is in part 1 if it lies in test/,
// else in part 0.
type listed struct {
	path  string
	class uint16
	part  int
}

// maxFiles is the most files that are read as pictures, and maxName the most bytes in the name of a
// class or of the folder, as it was given.
const maxFiles, maxName = 200_000, 1000

// testShare says how many pictures of a class there are for each one that tests, if they are
// undivided.
const testShare = 6

// List finds classes and pictures, and reads none of these. What is wrong with the folder is an
// error in one line.
func (p Pictures) List() (Pictures, error) {
	if p.Side < experiments.MinSide || p.Side > experiments.MaxSide {
		return p, fmt.Errorf("--side %d is out of range: choose %d to %d", p.Side,
			experiments.MinSide, experiments.MaxSide)
	}
	root, err := p.open()
	if err != nil {
		return p, err
	}
	defer root.Close()
	p.pictures, p.tests, p.beside = nil, 0, nil // of an earlier list
	places, err := p.findClasses(root)
	if err != nil {
		return p, err
	}
	for _, name := range append([]string{p.Folder}, p.classes...) {
		if !utf8.ValidString(name) || !experiments.Printable(name) || len(name) > maxName {
			return p, fmt.Errorf("%s: the name %.80q is too long, or has characters that cannot be "+
				"shown: rename the folder", path.Clean(p.Folder), name)
		}
	}
	if count := len(p.classes); count < 2 || count > experiments.MaxClasses {
		inner := ""
		if count == 1 && len(places) == 1 {
			inner = "; if they lie in " + p.classes[0] + ", name that folder"
		}
		return p, fmt.Errorf("%s: folders of classes: %d, and 2 to %d are needed, one for each "+
			"class with its pictures%s", p.Folder, count, experiments.MaxClasses, inner)
	}
	least := 3 - len(places) // pictures of a class
	for part, place := range places {
		for class, name := range p.classes {
			folder := path.Join(place, name)
			entries, err := fs.ReadDir(root.FS(), folder)
			if err != nil {
				return p, fmt.Errorf("%s: %w; make it readable, or remove it", p.Folder, err)
			}
			entries, files := slices.DeleteFunc(entries, hidden), 0
			for _, entry := range entries {
				if !entry.IsDir() {
					files++
				}
				picture := listed{path.Join(folder, entry.Name()), uint16(class), part}
				p.pictures = append(p.pictures, picture)
				p.tests += part // 1 in test/
			}
			if files < least {
				do := "add some, or remove the folder"
				if files == 0 && len(entries) > 0 {
					do = "move those of its folders up"
					if split := splitNames[name]; split != "" && len(places) == 1 {
						do += ", or rename it to " + split
					}
				}
				return p, fmt.Errorf("%s: pictures: %d, and at least %d are needed: %s",
					path.Join(p.Folder, folder), files, least, do)
			}
			if p.Len() > maxFiles {
				return p, fmt.Errorf("%s has more than %d files: take fewer pictures", p.Folder,
					maxFiles)
			}
		}
	}
	return p, nil
}

// open opens the folder, which no path or link in it leaves.
func (p Pictures) open() (*os.Root, error) {
	root, err := os.OpenRoot(p.Folder)
	if err != nil {
		return nil, fmt.Errorf("%w; name a folder of pictures with --pictures", err)
	}
	return root, nil
}

// findClasses sets the classes, and returns the places in the folder that have a folder of each:
// the folder itself, or train/ and test/.
func (p *Pictures) findClasses(root *os.Root) (places []string, err error) {
	top, others, err := folders(root, ".")
	train, test := slices.Contains(top, "train"), slices.Contains(top, "test")
	spelled := func(name string) bool { // in letters of any size
		return slices.ContainsFunc(top, func(folder string) bool {
			return strings.EqualFold(folder, name)
		})
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", p.Folder, err)
	case !(train && test) && spelled("train") && spelled("test"):
		return nil, fmt.Errorf("%s: write train and test in small letters: rename the folders",
			p.Folder)
	case train != test:
		rename := ""
		for _, name := range top {
			if split := splitNames[name]; split == "test" && train || split == "train" && test {
				rename = ": rename " + name + " to " + split
			}
		}
		return nil, fmt.Errorf("%s has one of train/ and test/ alone: add the other%s, or put the "+
			"classes into the folder itself; if it is a class, rename it", p.Folder, rename)
	case !train:
		p.classes = top
		p.skip("", "in no class's folder", others)
		return []string{"."}, nil
	}
	top = slices.DeleteFunc(top, func(name string) bool { return name == "train" || name == "test" })
	p.skip("", "neither in train nor in test", append(top, others...))
	p.classes, others, err = folders(root, "train")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Folder, err)
	}
	p.skip("train", "in no class's folder", others)
	tested, others, err := folders(root, "test")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Folder, err)
	}
	p.skip("test", "in no class's folder", others)
	for _, class := range slices.Concat(p.classes, tested) {
		if !slices.Contains(p.classes, class) || !slices.Contains(tested, class) {
			return nil, fmt.Errorf("%s: class %q is not both in train/ and in test/: add pictures "+
				"there, or remove it", p.Folder, class)
		}
	}
	return []string{"train", "test"}, nil
}

// splitNames are other names that people give to train/ and test/.
var splitNames = map[string]string{"training": "train", "testing": "test", "val": "test",
	"valid": "test", "validation": "test"}

// skip notes what lies in a folder and is no class, and why.
func (p *Pictures) skip(folder, why string, names []string) {
	for _, name := range names {
		p.beside = append(p.beside, path.Join(folder, name)+": "+why)
	}
}

// hidden reports whether a file or folder is one of those that systems leave: a Mac in its zips, a
// file server, a disk at its root.
func hidden(entry fs.DirEntry) bool {
	name := entry.Name()
	return strings.HasPrefix(name, ".") || slices.Contains([]string{"__MACOSX", "Thumbs.db",
		"desktop.ini", "@eaDir", "lost+found", "System Volume Information", "$RECYCLE.BIN"}, name)
}

// folders returns the names of the folders in another one, also of those that a link in it names,
// and of what else is there, in their order, without what is hidden. A link that leads nowhere or
// out of [Pictures] is an error: it may be a class.
func folders(root *os.Root, in string) (names, others []string, err error) {
	entries, err := fs.ReadDir(root.FS(), in)
	for _, entry := range slices.DeleteFunc(entries, hidden) {
		info, err := root.Stat(path.Join(in, entry.Name()))
		switch {
		case err != nil:
			name := path.Join(in, entry.Name())
			return nil, nil, fmt.Errorf("%s: %w, or remove it", name, ofLink(root, name, err))
		case info.IsDir():
			names = append(names, entry.Name())
		default:
			others = append(others, entry.Name())
		}
	}
	return names, others, err
}

// ofLink returns the error of what lies at a path of the folder without the path. Of a link that
// leads nowhere or out of the folder it is what to do.
func ofLink(root *os.Root, name string, err error) error {
	info, unseen := root.Lstat(name)
	_, lost := root.Stat(name)
	if unseen == nil && lost != nil && info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("a link to nothing within the folder is not followed: copy what it names " +
			"here (cp -rL)")
	}
	return cmp.Or(errors.Unwrap(err), err)
}

// Images describes the images that the pictures become, without their number.
func (p Pictures) Images() experiments.Images {
	folder := safefile.Absolute(p.Folder) // in which "." has a name, too
	images := experiments.Images{Name: experiments.OwnName(filepath.Base(folder)),
		Height: p.Side, Width: p.Side, Channels: 3, Classes: p.classes}
	if p.Grey {
		images.Channels = 1
	}
	return images
}

// Expected returns the data set that the pictures become if all can be read, without a fingerprint.
// Of undivided ones it has the most training images that are possible: one of each class tests.
func (p Pictures) Expected() experiments.Dataset {
	tests := cmp.Or(p.tests, len(p.classes))
	return experiments.Dataset{Name: p.Images().Name, Train: p.Len() - tests, Test: tests}
}

// Len returns the number of files that are listed.
func (p Pictures) Len() int { return len(p.pictures) }

// Flags returns the pictures as the command line takes them, in any folder.
func (p Pictures) Flags() string {
	folder := safefile.Absolute(p.Folder)
	if len(folder) > maxName || !experiments.Printable(folder) { // records take no such text
		folder = p.Folder
	}
	flags := " --pictures " + safefile.Quoted(folder)
	if p.Side != 0 {
		flags += fmt.Sprintf(" --side %d", p.Side)
	}
	if p.Grey {
		flags += " --grey"
	}
	return flags
}

// decoded is a picture that was read.
type decoded struct {
	listed
	pixels []uint8 // its image
	// content and shows are the hashes of the file and of the image.
	content, shows [sha256.Size]byte
	err            error
}

// Read reads all listed pictures as [ReadPictures] does. Where they are not divided, the hash of a
// file's content decides whether it trains or tests: one in six of a class tests, and each class
// has one of both at least. The hash also decides the order of the images. The fingerprint is the
// SHA-256 of the images, their labels and the classes' names, in that order.
//
// A picture that cannot be read, or that shows the same as another one of its class, is skipped,
// which a line says. Two classes, or training and test images, that share a picture are an error.
func (p Pictures) Read(ctx context.Context, log io.Writer) (*Set, error) {
	root, err := p.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	read, skipped := make([]decoded, p.Len()), slices.Clone(p.beside)
	err = eachFile(ctx, log, p.Len(), func(i int) { read[i] = p.decode(root, p.pictures[i]) })
	if err != nil {
		return nil, err
	}
	var all []decoded
	for _, one := range read {
		if one.err != nil {
			skipped = append(skipped, fmt.Sprintf("%s: %v", one.path, one.err))
			continue
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b decoded) int {
		return cmp.Or(a.part-b.part, bytes.Compare(a.content[:], b.content[:]))
	})
	all, again, shared := single(all)
	say(log, "skipped", p.Folder, append(skipped, again...))
	if len(shared) > 0 {
		say(log, "twice:", p.Folder, shared)
		return nil, fmt.Errorf("%s: %s show the same picture (such pairs: %d): remove one of each",
			p.Folder, shared[0], len(shared))
	}
	train, test := p.divide(all)
	set := &Set{Name: p.Images().Name, Classes: p.classes, Train: p.join(train), Test: p.join(test)}
	for i, part := range []Images{set.Train, set.Test} {
		for class, name := range p.classes {
			if !slices.Contains(part.Labels, uint16(class)) {
				return nil, fmt.Errorf("%s: class %q has no %s picture left that can be read: "+
					"add some, or remove the folder", p.Folder, name, []string{"training", "test"}[i])
			}
		}
	}
	set.SHA256 = ownFingerprint(set)
	return set, nil
}

// single leaves one of the pictures of a class that show the same, and says which it skips. shared
// are pairs of pictures that show the same in two classes, or in training and test images.
func single(all []decoded) (kept []decoded, skipped, shared []string) {
	seen := map[[sha256.Size]byte]decoded{}
	for _, one := range all {
		other, again := seen[one.shows]
		switch {
		case !again:
			seen[one.shows] = one
			kept = append(kept, one)
		case other.class != one.class || other.part != one.part:
			shared = append(shared, other.path+" and "+one.path)
		default:
			skipped = append(skipped, one.path+": shows the same as "+other.path)
		}
	}
	return kept, skipped, shared
}

// say names files of the folder and what they are, the first ones each in a line.
func say(log io.Writer, what, folder string, files []string) {
	const most = 20
	for _, one := range files[:min(most, len(files))] {
		fmt.Fprintf(log, "%s %s\n", what, path.Join(folder, one))
	}
	if more := len(files) - most; more > 0 {
		fmt.Fprintf(log, "%s %d more files of %s\n", what, more, folder)
	}
}

// decode reads a picture of the folder, which must be a regular file in it.
func (p Pictures) decode(root *os.Root, f listed) (one decoded) {
	one.listed = f
	content, err := safefile.ReadIn(root, f.path, maxPictureBytes)
	if err != nil {
		one.err = ofLink(root, f.path, err)
		return one
	}
	one.pixels, _, one.err = imageOf(content, p.Images())
	one.content, one.shows = sha256.Sum256(content), sha256.Sum256(one.pixels)
	return one
}

// divide divides pictures, which are in the order of their hashes. Of undivided ones about one in
// six of a class tests, the first at least and not all.
func (p Pictures) divide(all []decoded) (train, test []decoded) {
	classes := len(p.classes)
	left, trains, tests := make([]int, classes), make([]int, classes), make([]int, classes)
	for _, one := range all {
		left[one.class]++
	}
	for _, one := range all {
		class, small := one.class, int(one.content[0])*testShare < 256 // in a sixth of all hashes
		left[class]--
		chosen := (small || tests[class] == 0) && (left[class] > 0 || trains[class] > 0)
		if one.part == 1 || p.tests == 0 && chosen {
			tests[class]++
			test = append(test, one)
		} else {
			trains[class]++
			train = append(train, one)
		}
	}
	return train, test
}

// join returns the images of pictures that were read.
func (p Pictures) join(all []decoded) Images {
	declared := p.Images()
	images := Images{Height: declared.Height, Width: declared.Width, Channels: declared.Channels}
	images.Pixels = make([]uint8, 0, len(all)*images.Size())
	for _, one := range all {
		images.Pixels = append(images.Pixels, one.pixels...)
		images.Labels = append(images.Labels, one.class)
	}
	return images
}

// ownFingerprint returns the SHA-256 of a set of own pictures.
func ownFingerprint(set *Set) string {
	hash := sha256.New()
	for _, images := range []Images{set.Train, set.Test} {
		fmt.Fprintf(hash, "%d×%d×%d×%d\n", images.Len(), images.Height, images.Width,
			images.Channels)
		hash.Write(images.Pixels)
		for _, label := range images.Labels {
			fmt.Fprintf(hash, "%d\n", label)
		}
	}
	fmt.Fprintf(hash, "%q\n", set.Classes)
	return fmt.Sprintf("%x", hash.Sum(nil))
}
