package dataset

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/dataset/datasettest"
)

// Fashion-MNIST is read from where torchvision, Keras and Debian put it, with the fingerprint of
// its files and in the size of CIFAR-10's images, and not from MNIST's files beside it.
func TestFashionFolder(t *testing.T) {
	for _, below := range []string{"FashionMNIST/raw", "fashion-mnist", "", "raw"} {
		folder := t.TempDir()
		files := filepath.Join(folder, below)
		if below == "FashionMNIST/raw" {
			datasettest.MNIST(t, folder, 20)
		}
		datasettest.MNIST(t, files, 10)
		set, err := Local(experiments.FashionMNIST, folder)
		require.NoError(t, err)
		require.Equal(t, []any{"fashion-mnist-unknown", fingerprint(digits(t))},
			[]any{set.Name, set.SHA256})
		require.Equal(t, "ankle boot", set.Classes[9])
		grey, err := sourceOf(experiments.MNIST).open(files)
		require.NoError(t, err)
		require.Equal(t, grey.Padded32().Train, set.Train)
		require.Equal(t, grey.Padded32().Test, set.Test)
	}
	_, err := Local(experiments.FashionMNIST, t.TempDir())
	requireOneLine(t, err, "found no Fashion-MNIST, looked for FashionMNIST/raw/", "there: nothing",
		"dataset-fashion-mnist")
	folder := writeDigits(t)
	knownAs(t, fingerprint(digits(t)), MNISTName)
	_, err = Local(experiments.FashionMNIST, folder)
	requireOneLine(t, err, folder, "has the images of MNIST, not of Fashion-MNIST")
}

// Where no folder is named, a package of the system may have the official bytes; other bytes there
// count for nothing.
func TestInstalled(t *testing.T) {
	emptyCache(t)
	there := writeDigits(t)
	declare(t, experiments.FashionMNIST, func(d *decoder) {
		d.installed = []string{"/does/not/exist", there}
	})
	set, err := Local(experiments.FashionMNIST, "")
	require.NoError(t, err)
	require.Nil(t, set)
	knownAs(t, fingerprint(digits(t)), "fashion-mnist")
	set, err = Local(experiments.FashionMNIST, "")
	require.NoError(t, err)
	require.Equal(t, "fashion-mnist", set.Name)
}

// Debian's package, where it is installed, has the official bytes, packed anew.
func TestFashionOfDebianIsTheOfficialOne(t *testing.T) {
	if _, err := os.Stat(fashionInstalled); err != nil {
		t.Skip("apt-get install dataset-fashion-mnist")
	}
	set, err := sourceOf(experiments.FashionMNIST).open(fashionInstalled)
	require.NoError(t, err)
	images := experiments.FashionMNIST.Images()
	require.Equal(t, "fashion-mnist", set.Name)
	require.Equal(t, []int{images.Train, images.Test, images.Height, images.Channels},
		[]int{set.Train.Len(), set.Test.Len(), set.Test.Height, set.Test.Channels})
}

// Its four files are downloaded once. Where they cannot be had, a line says where else they are,
// and nothing stands in.
func TestFashionDownloaded(t *testing.T) {
	emptyCache(t)
	packed := map[string][]byte{}
	for _, f := range digits(t) {
		packed["/"+f.name+".gz"] = gzipped(f.bytes)
	}
	requests, missing := 0, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; r.URL.Path == missing {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Write(packed[r.URL.Path])
	}))
	before, patience := fashionRemotes, waits
	t.Cleanup(func() {
		server.Close()
		fashionRemotes, waits = before, patience
	})
	waits, fashionRemotes = make([]time.Duration, 1), nil
	for _, name := range mnistNames {
		path := "/" + name + ".gz"
		fashionRemotes = append(fashionRemotes, pinned(server.URL+path, packed[path]))
	}
	knownAs(t, fingerprint(digits(t)), "fashion-mnist")

	missing = "/" + mnistNames[3] + ".gz"
	_, err := FindOrStandIn(t.Context(), experiments.FashionMNIST, "", io.Discard)
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err, missing, "404", "dataset-fashion-mnist")
	missing, requests = "", 0
	for range 2 {
		set, err := Find(t.Context(), experiments.FashionMNIST, "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, "fashion-mnist", set.Name)
		require.Equal(t, 4, requests)
	}
	left, err := os.ReadDir(filepath.Join(os.Getenv(cache.EnvVar), "data"))
	require.NoError(t, err)
	require.Len(t, left, 1, "parts are removed")
}
