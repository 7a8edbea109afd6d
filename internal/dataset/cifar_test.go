package dataset

import (
	"os"
	"path/filepath"
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
		require.Equal(t, CIFAR10UnknownName, set.Name)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, 50000, set.Train.Len())
		require.Equal(t, 10000, set.Test.Len())
		require.Len(t, set.Classes, numClasses)
	}
	empty := t.TempDir() // which the caller names, before that of the environment
	_, err := Local(experiments.CIFAR10, empty)
	requireOneLine(t, err, empty, cifarFolder)
}

func TestCIFAR10FolderBroken(t *testing.T) {
	folder := blackCIFAR10(t)
	path := filepath.Join(folder, "data_batch_1.bin")
	refused := func(contains ...string) {
		t.Helper()
		_, err := readCIFAR10(folder)
		requireOneLine(t, err, append(contains, path)...)
	}
	for size, says := range map[int64]string{
		0: "0 bytes, not", cifarBytes - cifarRecord: "bytes, not", cifarBytes + 1: "bytes, not", 1 << 40: "oversized",
	} {
		resize(t, path, size)
		refused(says, "download it again")
	}
	black := make([]byte, cifarBytes)
	require.NoError(t, os.WriteFile(path, changed(black, 9999*cifarRecord, 10), 0o644))
	refused("record 9999", "label 10")
	require.NoError(t, os.Remove(path))
	refused("missing")
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
		for file, read := range map[string]func(string) (*Set, error){
			cifarArchive: readCIFAR10, cifarFiles[1]: readCIFAR10, mnistNames[1]: readMNIST, mnistNames[1] + ".gz": readMNIST,
		} {
			t.Run(name+" as "+file, func(t *testing.T) {
				folder := writeDigits(t)
				require.NoError(t, os.Remove(filepath.Join(folder, mnistNames[1])))
				require.NoError(t, make(filepath.Join(folder, file)))
				_, err := read(folder)
				requireOneLine(t, err, folder)
			})
		}
	}
}
