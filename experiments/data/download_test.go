package data

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// quickWeb downloads as the real one does, less patiently.
func quickWeb() web {
	return web{stall: 200 * time.Millisecond, wait: time.Millisecond, progress: io.Discard}
}

// notFound is the address of a server that has nothing.
func notFound(t *testing.T) string {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server.URL + "/"
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

// whole serves content, or the part of it that is asked for.
func whole(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "file.bin", time.Time{}, bytes.NewReader(content))
}

// ignoringRange serves all of content whatever is asked for.
func ignoringRange(w http.ResponseWriter, _ *http.Request) {
	w.Write(content)
}

// half sends half of what was asked for and breaks off.
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

// resumed fails the test unless the request asks for the second half only.
func resumed(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", len(content)/2); got != want {
			t.Errorf("Range %q, want %q", got, want)
		}
		whole(w, r)
	}
}

func TestDownload(t *testing.T) {
	for name, answers := range map[string][]http.HandlerFunc{
		"at once":                        {whole},
		"after errors":                   {status(500), status(503), status(429), whole},
		"broken off, resumed":            {half, resumed(t)},
		"stalled, resumed":               {stalling, resumed(t)},
		"no answer, then one":            {silent, whole},
		"broken off, cannot resume":      {half, ignoringRange},
		"broken off, resumed after 500s": {half, status(500), resumed(t)},
	} {
		t.Run(name, func(t *testing.T) {
			from, requests := serve(t, answers...)
			file := filepath.Join(t.TempDir(), "file.bin")
			require.NoError(t, quickWeb().download(t.Context(), from, file))
			got, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got), "other bytes arrived")
			require.EqualValues(t, len(answers), requests.Load())
			require.NoFileExists(t, file+".part")
		})
	}
}

func TestDownloadUnavailable(t *testing.T) {
	other := func(size int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, size)) }
	}
	wrongPlace := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 5-%d/%d", len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
	}
	again := func(answer http.HandlerFunc) []http.HandlerFunc {
		answers := make([]http.HandlerFunc, maxRetries+1)
		for i := range answers {
			answers[i] = answer
		}
		return answers
	}
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		says    string
	}{
		"not found":        {[]http.HandlerFunc{status(404)}, "404"},
		"forbidden":        {[]http.HandlerFunc{status(403)}, "403"},
		"always errors":    {again(status(502)), "502"},
		"always stalls":    {again(stalling), "no data for"},
		"other bytes":      {[]http.HandlerFunc{other(len(content))}, "other bytes"},
		"a page":           {[]http.HandlerFunc{other(999)}, "other bytes"},
		"too long":         {[]http.HandlerFunc{other(len(content) + 1)}, "other bytes"},
		"unasked-for part": {[]http.HandlerFunc{wrongPlace}, "bytes 5-"},
	} {
		t.Run(name, func(t *testing.T) {
			from, requests := serve(t, c.answers...)
			file := filepath.Join(t.TempDir(), "file.bin")
			err := quickWeb().download(t.Context(), from, file)
			require.ErrorIs(t, err, ErrUnavailable)
			requireOneLine(t, err, "file.bin", c.says)
			require.EqualValues(t, len(c.answers), requests.Load(), "requests")
			require.NoFileExists(t, file)
		})
	}
}

func TestDownloadWithoutNetwork(t *testing.T) {
	began := time.Now()
	err := quickWeb().download(t.Context(), pinned("http://host.invalid"), filepath.Join(t.TempDir(), "file.bin"))
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err, "host.invalid")
	require.Less(t, time.Since(began), 5*time.Second)

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	err = quickWeb().download(t.Context(), pinned(closed.URL), filepath.Join(t.TempDir(), "file.bin"))
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err)
}

func TestDownloadGoesOnLater(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.bin")
	require.NoError(t, os.WriteFile(file+".part", content[:len(content)/2], 0o644))
	from, requests := serve(t, resumed(t))
	require.NoError(t, quickWeb().download(t.Context(), from, file))
	require.EqualValues(t, 1, requests.Load())

	for _, old := range [][]byte{[]byte("something else"), append(bytes.Clone(content), 0), make([]byte, len(content))} {
		require.NoError(t, os.WriteFile(file+".part", old, 0o644))
		from, _ := serve(t)
		require.NoError(t, quickWeb().download(t.Context(), from, file), "what lay there is not of this file")
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got))
	}
}

func TestDownloadErrorsThatAreNotTheWebs(t *testing.T) {
	from, _ := serve(t, stalling)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := quickWeb().download(ctx, from, filepath.Join(t.TempDir(), "file.bin"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, errors.Is(err, ErrUnavailable), "who stops a download does not want another data set instead")

	from, _ = serve(t)
	err = quickWeb().download(t.Context(), from, filepath.Join(t.TempDir(), "no", "such", "folder", "file.bin"))
	requireOneLine(t, err, "no such file")
	require.False(t, errors.Is(err, ErrUnavailable))
}

func TestDownloadProgress(t *testing.T) {
	from, _ := serve(t)
	var log bytes.Buffer
	w := quickWeb()
	w.progress = &log
	require.NoError(t, w.download(t.Context(), from, filepath.Join(t.TempDir(), "file.bin")))
	require.Regexp(t, `^downloading http://.*/file.bin \(0.3 MB\)\ndownloaded file.bin in .* MB/s\), SHA-256 as expected\n$`, log.String())
}

func TestCIFAR10Downloaded(t *testing.T) {
	t.Setenv("EBSSC_CACHE", t.TempDir())
	packed := pack(t, officialEntries())
	sum := sha256.Sum256(packed)
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.ServeContent(w, r, cifarArchive, time.Time{}, bytes.NewReader(packed))
	}))
	defer server.Close()
	w := quickWeb()
	w.cifar = remote{url: server.URL + "/" + cifarArchive, size: int64(len(packed)), sha256: hex.EncodeToString(sum[:])}
	w.cifarSHA256 = blackSHA256
	fetched := func(wantRequests int) {
		t.Helper()
		set, err := w.cifar10().cached(t.Context())
		require.NoError(t, err)
		require.Equal(t, blackSHA256, set.SHA256)
		require.Equal(t, wantRequests, requests)
	}
	fetched(1)
	fetched(1)

	dir, err := cacheFolder(CIFAR10Name)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(dir, cifarArchive), "the archive is not kept")
	resize(t, filepath.Join(dir, cifarFiles[3]), 5)
	fetched(2)
	require.NoError(t, os.Remove(filepath.Join(dir, cifarFiles[0])))
	fetched(3)

	w.cifarSHA256 = cifarOfficial
	_, err = w.cifar10().cached(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err, cifarOfficial)
}
