package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
)

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
	require.Equal(t, []int{20000, 32, 32, 3}, []int{images.Len(), images.Height, images.Width, images.Channels})
	for at, got := range images.Pixels {
		if want := value(at/cifarImage, at%3, at%cifarImage/3); got != want {
			t.Fatalf("value %d is %d, not %d", at, got, want)
		}
	}
	for image, label := range images.Labels {
		require.EqualValues(t, image%7, label)
	}
}

// FuzzCIFAR10 decodes black files of which a part is anything: only a label can be wrong, and every byte arrives.
func FuzzCIFAR10(f *testing.F) {
	f.Add(3*cifarRecord, []byte{9, 1, 2})
	f.Add(9999*cifarRecord, []byte{10})
	f.Add(cifarRecord-1, []byte{255, 0, 255})
	black := make([]byte, cifarBytes)
	f.Fuzz(func(t *testing.T, at int, content []byte) {
		changed := black[uint(at)%cifarBytes:]
		changed = changed[:copy(changed, content)]
		defer clear(changed)
		images, err := source{classes: make([]string, 10), decode: decodeCIFAR10}.images([]dataFile{{place: "file", bytes: black}})
		zeros := func(values []byte) int { return bytes.Count(values, []byte{0}) }
		require.Equal(t, zeros(black), zeros(images.Labels)+zeros(images.Pixels))
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
	t.Setenv(EnvVar, folder)
	for _, dir := range []string{"", filepath.Dir(folder)} {
		set, err := Local(experiments.CIFAR10, dir)
		require.NoError(t, err)
		require.Equal(t, []any{CIFAR10UnknownName, blackSHA256, 50000, 10000}, []any{set.Name, set.SHA256, set.Train.Len(), set.Test.Len()})
		require.Len(t, set.Classes, 10)
	}
}

func TestCIFAR10FolderBroken(t *testing.T) {
	folder := blackCIFAR10(t)
	path := filepath.Join(folder, "data_batch_1.bin")
	refused := func(contains ...string) {
		t.Helper()
		_, err := sources[experiments.CIFAR10].open(folder)
		requireOneLine(t, err, append(contains, path)...)
	}
	for size, says := range map[int64]string{
		0: "0 bytes, not", cifarBytes - cifarRecord: "bytes, not", cifarBytes + 1: "oversized", 1 << 40: "oversized",
	} {
		resize(t, path, size)
		refused(says, "download it again")
	}
	black := make([]byte, cifarBytes)
	require.NoError(t, os.WriteFile(path, changed(black, 9999*cifarRecord, 10), 0o644))
	refused("image 9999", "label 10")
	require.NoError(t, os.Remove(path))
	refused("no such file")
}

// What has a name, and no bytes of a data file or no end of them, is refused and not waited for.
func TestWhatIsNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a folder":               func(path string) error { return os.Mkdir(path, 0o755) },
		"a pipe":                 func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"zeros without end":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to itself":       func(path string) error { return os.Symlink(path, path) },
		"a link to what is gone": func(path string) error { return os.Symlink("/nowhere", path) },
	} {
		for file, which := range map[string]experiments.Images{
			cifarArchive: experiments.CIFAR10, cifarFiles[1]: experiments.CIFAR10,
			mnistNames[1]: experiments.MNIST, mnistNames[1] + ".gz": experiments.MNIST,
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
