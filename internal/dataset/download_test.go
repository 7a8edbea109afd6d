package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/cache"
)

// impatient makes downloads of the test wait less.
func impatient(t *testing.T) {
	wait, idle := firstWait, idleTimeout
	t.Cleanup(func() { firstWait, idleTimeout = wait, idle })
	firstWait, idleTimeout = time.Millisecond, 600*time.Millisecond
}

var content = bytes.Repeat([]byte("0123456789abcde\n"), 1<<14)

// pinned is content at a server's address.
func pinned(url string) remote {
	sum := sha256.Sum256(content)
	return remote{url: url + "/file.bin", size: int64(len(content)), sha256: hex.EncodeToString(sum[:])}
}

// serve answers requests one after another, and then as a plain server would.
func serve(t *testing.T, answers ...http.HandlerFunc) (from remote, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1)) - 1
		if n < len(answers) {
			answers[n](w, r)
			return
		}
		whole(w, r)
	}))
	t.Cleanup(server.Close)
	return pinned(server.URL), requests
}

// whole serves content.
func whole(w http.ResponseWriter, _ *http.Request) { w.Write(content) }

// half sends half of content and breaks off.
func half(w http.ResponseWriter, r *http.Request) {
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

// silent does not even answer.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// redirect sends on to another address.
func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// shortOfUnknownLength sends the first half as if that were all.
func shortOfUnknownLength(w http.ResponseWriter, _ *http.Request) {
	w.(http.Flusher).Flush()
	w.Write(content[:len(content)/2])
}

// sending answers with bytes.
func sending(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(content) }
}

func TestDownload(t *testing.T) {
	impatient(t)
	again := func(answer http.HandlerFunc) []http.HandlerFunc {
		return slices.Repeat([]http.HandlerFunc{answer}, tries)
	}
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
		"always errors":        {again(status(502)), "502"},
		"always half":          {again(half), "broke off after"},
		"always stalls":        {again(stalling), "no data for"},
		"other bytes":          {[]http.HandlerFunc{half, sending(make([]byte, len(content)))}, "other bytes"},
		"a page":               {[]http.HandlerFunc{sending(make([]byte, 999))}, "other bytes"},
		"too long":             {[]http.HandlerFunc{sending(make([]byte, len(content)+1))}, "other bytes"},
		"redirected to a file": {again(redirect("file:///etc/passwd")), "unsupported protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			from, requests := serve(t, c.answers...)
			got, err := from.download(t.Context(), io.Discard)
			require.EqualValues(t, len(c.answers), requests.Load(), "requests")
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

// Where there is no connection the next source is tried at once.
func TestDownloadWithoutNetwork(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	began := time.Now()
	for _, address := range []string{"http://host.invalid", closed.URL} {
		_, err := pinned(address).download(t.Context(), io.Discard)
		require.ErrorIs(t, err, ErrUnavailable)
		requireOneLine(t, err, address)
	}
	require.Less(t, time.Since(began), 30*time.Second)
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
	recorder := httptest.NewRecorder()
	answer(recorder, nil)
	packed := recorder.Body.Bytes()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	before := cifarRemote
	t.Cleanup(func() { cifarRemote = before })
	sum := sha256.Sum256(packed)
	cifarRemote = remote{url: server.URL + "/" + cifarArchive, size: int64(len(packed)), sha256: hex.EncodeToString(sum[:])}
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
	requests = 0
	fetched := func(wantRequests int) {
		t.Helper()
		set, err := s.find(t.Context(), "", io.Discard)
		require.NoError(t, err)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, wantRequests, requests)
	}
	fetched(1)
	dir := filepath.Join(os.Getenv(cache.EnvVar), "data", CIFAR10Name)
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir), "the archive is not kept")
	resize(t, filepath.Join(dir, cifarFiles[3]), 5)
	// What a process that was killed has left.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "."+cifarFiles[1]+"12345"), []byte("half"), 0o600))
	fetched(2)
	fetched(2)
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir))

	s.sha256 = cifarOfficial
	_, err := s.find(t.Context(), "", io.Discard)
	requireOneLine(t, err, cifarOfficial, cache.EnvVar)
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
