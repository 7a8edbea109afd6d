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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

// quickWeb downloads as the real one does, less patiently.
func quickWeb() web {
	return web{idleTimeout: 600 * time.Millisecond, wait: time.Millisecond, log: io.Discard}
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

// waitFor is a server that asks for a pause.
func waitFor(seconds string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", seconds)
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// stallingWith answers with a code, announces text and does not send it.
func stallingWith(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		if len(header) == 2 {
			w.Header().Set(header[0], header[1])
		}
		w.WriteHeader(code)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
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

// longOfUnknownLength sends more than the file.
func longOfUnknownLength(w http.ResponseWriter, _ *http.Request) {
	w.(http.Flusher).Flush()
	w.Write(content)
	w.Write(content)
}

// sending answers with bytes.
func sending(content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Write(content) }
}

func TestDownload(t *testing.T) {
	for name, answers := range map[string][]http.HandlerFunc{
		"at once":                 {whole},
		"after errors":            {status(500), status(503), status(429), whole},
		"broken off":              {half, whole},
		"broken off and stalled":  {half, stalling, half, stalling, whole},
		"no answer, then one":     {silent, whole},
		"broken off, then 500":    {half, status(500), whole},
		"too short":               {shortOfUnknownLength, whole},
		"too long":                {longOfUnknownLength},
		"redirected":              {redirect("/elsewhere"), whole},
		"asked to wait for hours": {waitFor("36000"), whole},
		"an error that stalls":    {stallingWith(500), whole},
		"a redirect that stalls":  {stallingWith(302, "Location", "/elsewhere"), whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, requests := serve(t, answers...)
			got, err := quickWeb().download(t.Context(), from)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, got), "other bytes arrived")
			require.EqualValues(t, len(answers), requests.Load())
		})
	}
}

func TestDownloadUnavailable(t *testing.T) {
	wrongPart := func(w http.ResponseWriter, _ *http.Request) {
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
	circle := make([]http.HandlerFunc, maxRedirects+1)
	for i := range circle {
		circle[i] = redirect("/again")
	}
	flushed := func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		says    string
	}{
		"not found":         {[]http.HandlerFunc{status(404)}, "404"},
		"forbidden":         {[]http.HandlerFunc{status(403)}, "403"},
		"always errors":     {again(status(502)), "502"},
		"always stalls":     {again(stallingWith(200, "Content-Length", fmt.Sprint(len(content)))), "no data for"},
		"other bytes":       {[]http.HandlerFunc{sending(make([]byte, len(content)))}, "other bytes"},
		"a page":            {[]http.HandlerFunc{sending(make([]byte, 999))}, "other bytes"},
		"too long":          {[]http.HandlerFunc{sending(make([]byte, len(content)+1))}, "other bytes"},
		"unasked-for part":  {[]http.HandlerFunc{wrongPart}, "206"},
		"always half":       {again(half), "broke off after"},
		"broken off, other": {[]http.HandlerFunc{half, sending(make([]byte, len(content)))}, "other bytes"},

		"always too many":        {again(status(429)), "the server answered 429"},
		"redirected to a file":   {[]http.HandlerFunc{redirect("file:///etc/passwd")}, "redirected from http to file:///etc/passwd"},
		"redirected to ftp":      {[]http.HandlerFunc{redirect("ftp://127.0.0.1/file.bin")}, "to ftp://"},
		"redirected to https":    {[]http.HandlerFunc{redirect("https://127.0.0.1/file.bin")}, "from http to https"},
		"redirected to nowhere":  {[]http.HandlerFunc{redirect("")}, "302"},
		"redirected in a circle": {circle, "redirects"},
		"nothing, and no length": {again(flushed), "broke off after 0 of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, requests := serve(t, c.answers...)
			got, err := quickWeb().download(t.Context(), from)
			require.ErrorIs(t, err, ErrUnavailable)
			requireOneLine(t, err, "file.bin", c.says)
			require.EqualValues(t, len(c.answers), requests.Load(), "requests")
			require.Nil(t, got)
		})
	}
}

func TestDownloadWithoutNetwork(t *testing.T) {
	began := time.Now()
	_, err := quickWeb().download(t.Context(), pinned("http://host.invalid"))
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err, "host.invalid")
	require.Less(t, time.Since(began), 5*time.Second)

	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	_, err = quickWeb().download(t.Context(), pinned(closed.URL))
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err)
}

func TestDownloadStopped(t *testing.T) {
	from, _ := serve(t, stalling)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := quickWeb().download(ctx, from)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, ErrUnavailable, "who stops a download does not want another data set instead")
}

func TestDownloadLog(t *testing.T) {
	from, _ := serve(t, half, whole)
	var log bytes.Buffer
	w := quickWeb()
	w.log = &log
	_, err := w.download(t.Context(), from)
	require.NoError(t, err)
	require.Regexp(t, `^downloading http://.*/file.bin \(0.3 MB\)\n$`, log.String())
}

// cifarFrom is CIFAR-10 as an archive on a local server, pinned as if it were the official one.
func cifarFrom(t *testing.T, packed []byte) (s source, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Write(packed)
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(packed)
	w := quickWeb()
	w.idleTimeout = 10 * time.Second
	w.cifar = remote{url: server.URL + "/" + cifarArchive, size: int64(len(packed)), sha256: hex.EncodeToString(sum[:])}
	s = w.cifar10()
	s.sha256 = blackSHA256
	return s, requests
}

func TestCIFAR10Downloaded(t *testing.T) {
	t.Setenv(cache.EnvVar, t.TempDir())
	s, requests := cifarFrom(t, officialArchive())
	fetched := func(wantRequests int) {
		t.Helper()
		set, err := s.cached(t.Context())
		require.NoError(t, err)
		require.Equal(t, blackSHA256, set.SHA256)
		require.EqualValues(t, wantRequests, requests.Load())
	}
	fetched(1)

	dir := filepath.Join(os.Getenv(cache.EnvVar), "data", CIFAR10Name)
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir), "the archive is not kept")
	resize(t, filepath.Join(dir, cifarFiles[3]), 5)
	require.NoError(t, os.Remove(filepath.Join(dir, cifarFiles[0])))
	// What processes that were killed have left.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "."+cifarFiles[1]+"12345"), []byte("half"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, cifarArchive+".part"), []byte("of something else"), 0o600))
	fetched(2)
	fetched(2)
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir))

	s.sha256 = cifarOfficial
	_, err := s.cached(t.Context())
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
