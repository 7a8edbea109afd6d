package dataset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/safefile"
)

// emptyCache makes the cache an empty folder, and no folder the named one. No package of the system
// has data.
func emptyCache(t *testing.T) {
	t.Setenv(cache.EnvVar, t.TempDir())
	t.Setenv(EnvVar, "")
	for kind := range decoders {
		declare(t, kind, func(d *decoder) { d.installed = nil })
	}
}

// declare changes the declaration of how a data set is found, until the test ends.
func declare(t *testing.T, kind experiments.DataKind, change func(*decoder)) {
	before := decoders[kind]
	changed := before
	change(&changed)
	decoders[kind] = changed
	t.Cleanup(func() { decoders[kind] = before })
}

// fetching makes digits the official bytes of MNIST, which can be fetched, until the test ends.
func fetching(t *testing.T) {
	files := digits(t)
	fetch := func(context.Context, string, io.Writer) ([]dataFile, error) { return files, nil }
	declare(t, experiments.MNIST, func(d *decoder) { d.fetch = fetch })
	knownAs(t, fingerprint(files), MNISTName)
}

// knownAs makes a fingerprint that of a declared copy, until the test ends.
func knownAs(t *testing.T, sum, name string) {
	known[sum] = name
	t.Cleanup(func() { delete(known, sum) })
}

// Local reads a named folder or the cache, and downloads nothing.
func TestLocal(t *testing.T) {
	emptyCache(t)
	file := filepath.Join(t.TempDir(), "file")
	filetest.Write(t, file, "")
	for which := range decoders {
		set, err := Local(which, "")
		require.NoError(t, err)
		require.Nil(t, set)
		for _, folder := range []string{"/nowhere", file} {
			_, err = Local(which, folder)
			requireOneLine(t, err, folder, "not a folder", EnvVar)
		}
	}
}

// A data set that nothing can download has to be named.
func TestNoDownload(t *testing.T) {
	emptyCache(t)
	declare(t, experiments.MNIST, func(d *decoder) { d.fetch = nil })
	_, err := Find(t.Context(), experiments.MNIST, "", io.Discard)
	requireOneLine(t, err, "MNIST cannot be downloaded: get it from", "--data")
}

// Nothing takes the place of a named folder: not the cache, which has MNIST here, and not a
// download. The error says what was looked for, and what is there.
func TestNamedFolderAlone(t *testing.T) {
	emptyCache(t)
	fetching(t)
	for range 2 { // the second time with other bytes of that layout in the cache
		set, err := Find(t.Context(), experiments.MNIST, "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, MNISTName, set.Name)
		labels := filepath.Join(os.Getenv(cache.EnvVar), "data", MNISTName, mnistNames[3])
		filetest.Write(t, labels, encodeIDX([]int{10}, make([]byte, 10)))
	}

	for name, there := range map[string]struct {
		files []string
		says  string
	}{
		"nothing":      {nil, "there: nothing"},
		"another set":  {[]string{"FashionMNIST/raw/" + mnistNames[0]}, "there: FashionMNIST/"},
		"an archive":   {[]string{"mnist.zip"}, "there: mnist.zip"},
		"many":         {strings.Fields("a b c d e f g h"), "there: a, b, c, d, e, f, 2 more"},
		"a part of it": {mnistNames[:1], mnistNames[1] + ": no such file"},
		"of torchvision": {[]string{"MNIST/raw/" + mnistNames[0]},
			"MNIST/raw/" + mnistNames[1] + ": no such file"},
	} {
		folder := t.TempDir()
		for _, file := range there.files {
			filetest.Write(t, filepath.Join(folder, file), "")
		}
		for _, env := range []string{"", folder} {
			t.Setenv(EnvVar, env)
			named := folder
			if env != "" {
				named = ""
			}
			_, err := Local(experiments.MNIST, named)
			requireOneLine(t, err, folder, there.says)
			_, err = Find(t.Context(), experiments.MNIST, named, io.Discard)
			requireOneLine(t, err, folder, there.says)
			require.NotErrorIs(t, err, ErrUnavailable, name)
		}
	}
	_, err := Find(t.Context(), experiments.CIFAR10, writeDigits(t), io.Discard)
	requireOneLine(t, err, "found no CIFAR-10, looked for "+cifarFolder+"/", "there: "+mnistNames[2])
}

// Pictures of another data set under MNIST's names are not taken for digits.
func TestOtherPictures(t *testing.T) {
	folder := writeDigits(t)
	knownAs(t, fingerprint(digits(t)), "fashion-mnist")
	_, err := Local(experiments.MNIST, folder)
	requireOneLine(t, err, folder, "has the images of Fashion-MNIST, not of MNIST", "--data")
}

// MNIST stands in for CIFAR-10 where that cannot be downloaded, which one line says, but not where
// its folder is broken.
func TestStandIn(t *testing.T) {
	emptyCache(t)
	folder := writeDigits(t)
	_, err := FindOrStandIn(t.Context(), experiments.CIFAR10, folder, io.Discard)
	requireOneLine(t, err, folder, cifarFolder)

	var log bytes.Buffer
	cifarFrom(t, status(404))
	fetching(t)
	set, err := FindOrStandIn(t.Context(), experiments.CIFAR10, "", &log)
	require.NoError(t, err)
	require.Equal(t, MNIST32Name, set.Name)
	require.Regexp(t, `^downloading .*\n.* 404 .*\nMNIST stands in for CIFAR-10, .*\n$`, log.String())
}

var content = bytes.Repeat([]byte("0123456789abcde\n"), 1<<14)

// pinned returns a remote file with that content.
func pinned(url string, content []byte) remote {
	return remote{url: url, size: int64(len(content)), sha256: safefile.Sum(content)}
}

// serve answers requests for content one after another, the last answer again and again.
func serve(t *testing.T, answers ...http.HandlerFunc) (from remote, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers[min(int(requests.Add(1)), len(answers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return pinned(server.URL+"/file.bin", content), requests
}

// sending answers with bytes.
func sending(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(content) }
}

// half sends half of content and breaks off.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:len(content)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// stalling sends a byte, and then nothing.
func stalling(w http.ResponseWriter, r *http.Request) {
	w.Write(content[:1])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// slowly sends content for longer than a connection may bring nothing.
func slowly(w http.ResponseWriter, _ *http.Request) {
	for part := range slices.Chunk(content, len(content)/16) {
		w.Write(part)
		w.(http.Flusher).Flush()
		time.Sleep(idleTimeout / 12)
	}
}

// status answers with a code alone.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func TestDownload(t *testing.T) {
	impatient(t, len(waits))
	whole := sending(content)
	zeros := func(count int) http.HandlerFunc { return sending(make([]byte, count)) }
	away := http.RedirectHandler("file:///etc/passwd", 302).ServeHTTP
	tries := len(waits)
	type answers = []http.HandlerFunc
	for name, c := range map[string]struct {
		answers answers
		fails   string // what the error says; empty for none
		asked   int    // requests
	}{
		"at once":              {answers{whole}, "", 1},
		"after errors":         {answers{status(500), status(503), status(429), whole}, "", 4},
		"broken off":           {answers{half, stalling, half, slowly}, "", 4},
		"not found":            {answers{status(404), whole}, "404", 1},
		"always half":          {answers{half}, "broke off after", tries},
		"stalls at last":       {answers{half, half, half, half, stalling}, "no data for", tries},
		"other bytes":          {answers{half, zeros(len(content)), whole}, "other bytes", 2},
		"a page":               {answers{zeros(999), whole}, "other bytes", 1},
		"too long":             {answers{zeros(len(content) + 1), whole}, "other bytes", 1},
		"redirected to a file": {answers{away}, "unsupported protocol", tries},
	} {
		t.Run(name, func(t *testing.T) {
			from, requests := serve(t, c.answers...)
			got, err := from.download(t.Context(), filepath.Join(t.TempDir(), "data", "part"), io.Discard)
			require.EqualValues(t, c.asked, requests.Load(), "requests")
			if c.fails == "" {
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, got), "other bytes arrived")
				return
			}
			require.ErrorIs(t, err, ErrUnavailable)
			requireOneLine(t, err, "file.bin", c.fails)
			require.Nil(t, got)
		})
	}
}

func TestDownloadStopped(t *testing.T) {
	from, _ := serve(t, stalling)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := from.download(ctx, filepath.Join(t.TempDir(), "part"), io.Discard)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrUnavailable, "or another data set would be taken instead")
}

// cifarFrom makes a local server that gives this answer the one for CIFAR-10, and the black images
// the official ones.
func cifarFrom(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(answer)
	before, patience := cifarRemote, waits
	t.Cleanup(func() {
		server.Close()
		cifarRemote, waits = before, patience
	})
	knownAs(t, blackSHA256, CIFAR10Name)
	waits = waits[:1]
	cifarRemote = pinned(server.URL+"/"+cifarArchive, officialArchive())
}

func TestCIFAR10Downloaded(t *testing.T) {
	emptyCache(t)
	requests := 0
	cifarFrom(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Write(officialArchive())
	})
	dir := filepath.Join(os.Getenv(cache.EnvVar), "data", CIFAR10Name)
	fetched := func(wantRequests int) {
		t.Helper()
		set, err := Find(t.Context(), experiments.CIFAR10, "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, wantRequests, requests)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "what a killed process has left is removed")
	}
	fetched(1)
	resize(t, filepath.Join(dir, cifarArchive), 5)
	killed := filepath.Join(dir, "."+cifarArchive+"12345")
	filetest.Write(t, killed, "half")
	fetched(2)
	fetched(2)
}
