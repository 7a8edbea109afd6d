package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
)

var content = bytes.Repeat([]byte("0123456789abcde\n"), 1<<14)

// pinned is content at a server's address.
func pinned(url string, content []byte) remote {
	return remote{url: url, size: int64(len(content)), sha256: fmt.Sprintf("%x", sha256.Sum256(content))}
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
	sendHalf(w)
	panic(http.ErrAbortHandler)
}

// stalling sends half of it, and then nothing.
func stalling(w http.ResponseWriter, r *http.Request) {
	sendHalf(w)
	<-r.Context().Done()
}

func sendHalf(w http.ResponseWriter) {
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:len(content)/2])
	w.(http.Flusher).Flush()
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestDownload(t *testing.T) {
	before, idle := waits, idleTimeout
	t.Cleanup(func() { waits, idleTimeout = before, idle })
	waits, idleTimeout = make([]time.Duration, len(waits)), 600*time.Millisecond
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	shortOfUnknownLength := func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		w.Write(content[:len(content)/2])
	}
	whole := sending(content)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		fails   string // what the error says; empty for none
	}{
		"at once":              {[]http.HandlerFunc{whole}, ""},
		"after errors":         {[]http.HandlerFunc{status(500), status(503), status(429), whole}, ""},
		"broken off":           {[]http.HandlerFunc{half, stalling, half, whole}, ""},
		"no answer, then one":  {[]http.HandlerFunc{silent, whole}, ""},
		"too short":            {[]http.HandlerFunc{shortOfUnknownLength, whole}, ""},
		"redirected":           {[]http.HandlerFunc{redirect("/elsewhere"), whole}, ""},
		"not found":            {[]http.HandlerFunc{status(404)}, "404"},
		"always half":          {[]http.HandlerFunc{half}, "broke off after"},
		"stalls at last":       {[]http.HandlerFunc{half, half, half, half, stalling}, "no data for"},
		"other bytes":          {[]http.HandlerFunc{half, sending(make([]byte, len(content)))}, "other bytes"},
		"a page":               {[]http.HandlerFunc{sending(make([]byte, 999))}, "other bytes"},
		"too long":             {[]http.HandlerFunc{sending(make([]byte, len(content)+1))}, "other bytes"},
		"redirected to a file": {[]http.HandlerFunc{redirect("file:///etc/passwd")}, "unsupported protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			from, requests := serve(t, c.answers...)
			got, err := from.download(t.Context(), io.Discard)
			if c.fails == "" {
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, got), "other bytes arrived")
				require.EqualValues(t, len(c.answers), requests.Load(), "requests")
				return
			}
			require.ErrorIs(t, err, ErrUnavailable)
			requireOneLine(t, err, "file.bin", c.fails)
			require.Nil(t, got)
			require.EqualValues(t, len(waits), requests.Load(), "requests")
		})
	}
}

// Where there is no connection, nothing is tried again.
func TestDownloadWithoutNetwork(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	began := time.Now()
	for _, address := range []string{"http://host.invalid", closed.URL} {
		_, err := pinned(address, content).download(t.Context(), io.Discard)
		require.ErrorIs(t, err, ErrUnavailable)
		requireOneLine(t, err, address)
	}
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestDownloadStopped(t *testing.T) {
	from, _ := serve(t, stalling)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := from.download(ctx, io.Discard)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrUnavailable, "who stops a download does not want another data set instead")
}

// cifarFrom is CIFAR-10 from a local server that gives this answer, pinned as if the black archive were the official one.
func cifarFrom(t *testing.T, answer http.HandlerFunc) source {
	t.Helper()
	server := httptest.NewServer(answer)
	before, patience := cifarRemote, waits
	t.Cleanup(func() {
		server.Close()
		cifarRemote, waits = before, patience
	})
	waits = waits[:1]
	cifarRemote = pinned(server.URL+"/"+cifarArchive, officialArchive())
	s := sources[experiments.CIFAR10]
	s.sha256 = blackSHA256
	return s
}

func TestCIFAR10Downloaded(t *testing.T) {
	emptyCache(t)
	requests := 0
	s := cifarFrom(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Write(officialArchive())
	})
	dir := filepath.Join(os.Getenv(cache.EnvVar), "data", CIFAR10Name)
	fetched := func(wantRequests int) {
		t.Helper()
		set, err := s.find(t.Context(), "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, wantRequests, requests)
		require.ElementsMatch(t, cifarFiles, filesBelow(t, dir), "the archive is not kept")
	}
	fetched(1)
	resize(t, filepath.Join(dir, cifarFiles[3]), 5)
	// What a process that was killed has left.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "."+cifarFiles[1]+"12345"), []byte("half"), 0o600))
	fetched(2)
	fetched(2)
}

// filesBelow are the files and links below a folder, by their paths in it.
func filesBelow(t *testing.T, folder string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			path, err = filepath.Rel(folder, path)
			found = append(found, path)
		}
		return err
	}))
	return found
}
