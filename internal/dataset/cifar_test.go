package dataset

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/experiments"
)

// encodeCIFAR10 is the inverse of decodeCIFAR10 for one file.
func encodeCIFAR10(images Images) []byte {
	var file []byte
	for n := range images.Len() {
		file = append(file, images.Labels[n])
		for c := range 3 {
			for i := range cifarPlane {
				file = append(file, images.Pixels[n*cifarImage+3*i+c])
			}
		}
	}
	return file
}

func TestCIFAR10RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawImages(t, 32, 32, 3, 3), drawImages(t, 32, 32, 3, 3)
		decoded, err := decodeCIFAR10([]dataFile{{bytes: encodeCIFAR10(first)}, {bytes: encodeCIFAR10(second)}})
		require.NoError(t, err)
		require.Equal(t, append(first.Labels, second.Labels...), decoded.Labels)
		require.True(t, bytes.Equal(append(first.Pixels, second.Pixels...), decoded.Pixels), "pixels differ")
		require.Equal(t, []int{32, 32, 3}, []int{decoded.Height, decoded.Width, decoded.Channels})
	})
}

func TestCIFAR10RefusesBrokenRecords(t *testing.T) {
	for length := range 3*cifarRecord + 2 {
		images, err := decodeCIFAR10([]dataFile{{place: "batch", bytes: make([]byte, length)}})
		if length%cifarRecord == 0 {
			require.NoError(t, err)
			require.Equal(t, length/cifarRecord, images.Len())
			continue
		}
		requireOneLine(t, err, "batch", "download it again")
	}
	records := make([]byte, 3*cifarRecord)
	_, err := decodeCIFAR10([]dataFile{{place: "batch", bytes: changed(records, cifarRecord, 10)}})
	requireOneLine(t, err, "batch", "record 1", "label 10")
	_, err = decodeCIFAR10([]dataFile{{place: "batch", bytes: changed(records, cifarRecord, 9)}})
	require.NoError(t, err)
}

func FuzzCIFAR10(f *testing.F) {
	f.Add(make([]byte, cifarRecord))
	f.Add(make([]byte, cifarRecord+1))
	f.Add(changed(make([]byte, 2*cifarRecord), cifarRecord, 200))
	f.Fuzz(func(t *testing.T, content []byte) {
		images, err := decodeCIFAR10([]dataFile{{bytes: content}})
		if err == nil {
			require.True(t, bytes.Equal(content, encodeCIFAR10(images)), "decoding loses something")
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
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		set, err := readCIFAR10(dir)
		require.NoError(t, err)
		require.Equal(t, CIFAR10UnknownName, set.Name)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, 50000, set.Train.Len())
		require.Equal(t, 10000, set.Test.Len())
		require.Len(t, set.Classes, numClasses)
	}
	t.Setenv(EnvVar, folder)
	set, err := Local(experiments.CIFAR10, "")
	require.NoError(t, err)
	require.Equal(t, blackSHA256, set.SHA256)
	_, err = Local(experiments.CIFAR10, t.TempDir())
	require.Error(t, err, "the folder that the caller names goes before that of the environment")
}

func TestCIFAR10FolderBroken(t *testing.T) {
	folder := blackCIFAR10(t)
	path := filepath.Join(folder, "data_batch_4.bin")
	refused := func(contains ...string) {
		t.Helper()
		_, err := readCIFAR10(folder)
		requireOneLine(t, err, append(contains, path)...)
	}
	for _, size := range []int64{0, cifarRecord, cifarBytes - cifarRecord, cifarBytes - 1} {
		resize(t, path, size)
		refused("truncated")
	}
	for _, size := range []int64{cifarBytes + 1, cifarBytes + cifarRecord, 1 << 40} {
		resize(t, path, size)
		refused("oversized")
	}
	resize(t, path, cifarBytes)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{10}, 9999*cifarRecord)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	refused("record 9999", "label 10")

	require.NoError(t, os.Remove(path))
	refused("missing")
	for _, make := range notPlain {
		make(t, path)
		refused()
		require.NoError(t, os.Remove(path))
	}

	_, err = Local(experiments.CIFAR10, filepath.Join(folder, "nowhere"))
	requireOneLine(t, err, "nowhere")
	empty := t.TempDir()
	_, err = readCIFAR10(empty)
	requireOneLine(t, err, empty, cifarFolder)
}

// notPlain make something at a path that has a name, and no bytes of a data file or no end of them.
var notPlain = map[string]func(t *testing.T, path string){
	"a folder":               func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) },
	"a pipe":                 func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o644)) },
	"zeros without end":      func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) },
	"a link to itself":       func(t *testing.T, path string) { require.NoError(t, os.Symlink(path, path)) },
	"a link to what is gone": func(t *testing.T, path string) { require.NoError(t, os.Symlink("/nowhere", path)) },
}

func TestWhatIsNoFile(t *testing.T) {
	for name, make := range notPlain {
		t.Run(name, func(t *testing.T) {
			for _, file := range []string{cifarArchive, mnistNames[1], mnistNames[1] + ".gz"} {
				folder := t.TempDir()
				for _, f := range digits() {
					require.NoError(t, os.WriteFile(filepath.Join(folder, f.name), f.bytes, 0o644))
				}
				path := filepath.Join(folder, file)
				require.NoError(t, os.RemoveAll(filepath.Join(folder, mnistNames[1])))
				make(t, path)
				read := readMNIST
				if file == cifarArchive {
					read = readCIFAR10
				}
				_, err := read(folder)
				requireOneLine(t, err, folder)
			}
		})
	}
}
