package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"ebsscgo/internal/cache/cachetest"
)

// quickWeb downloads as the real one does, less patiently.
func quickWeb() web {
	return web{stall: 600 * time.Millisecond, wait: time.Millisecond, progress: io.Discard}
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

// otherHalf answers a request for the rest with as many other bytes.
func otherHalf(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", len(content)/2, len(content)-1, len(content)))
	w.WriteHeader(http.StatusPartialContent)
	w.Write(make([]byte, len(content)/2))
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
		"too short, resumed":             {shortOfUnknownLength, resumed(t)},
		"too long":                       {longOfUnknownLength},
		"redirected":                     {redirect("/elsewhere"), whole},
		"asked to wait for hours":        {waitFor("36000"), whole},
		"an error that stalls":           {stallingWith(500), whole},
		"a redirect that stalls":         {stallingWith(302, "Location", "/elsewhere"), whole},
		"resumed with other bytes":       {half, otherHalf, whole},
		"nothing more to resume":         {half, status(416), whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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

// A line that breaks again and again brings the file all the same, as long as it brings something.
func TestDownloadOverABadLine(t *testing.T) {
	const pieces = 7 * (maxRetries + 1)
	piece := func(w http.ResponseWriter, r *http.Request) {
		var from int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(content)-1, len(content)))
			w.WriteHeader(http.StatusPartialContent)
		}
		w.(http.Flusher).Flush()
		w.Write(content[from:min(len(content), from+len(content)/pieces+1)])
	}
	answers := make([]http.HandlerFunc, pieces)
	for i := range answers {
		answers[i] = piece
	}
	from, requests := serve(t, answers...)
	file := filepath.Join(t.TempDir(), "file.bin")
	w := quickWeb()
	w.stall = 10 * time.Second
	require.NoError(t, w.download(t.Context(), from, file))
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
	require.EqualValues(t, pieces, requests.Load())
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
	circle := make([]http.HandlerFunc, maxRedirects+1)
	for i := range circle {
		circle[i] = redirect("/again")
	}
	flushed := func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		says    string
	}{
		"not found":        {[]http.HandlerFunc{status(404)}, "404"},
		"forbidden":        {[]http.HandlerFunc{status(403)}, "403"},
		"always errors":    {again(status(502)), "502"},
		"always stalls":    {again(stallingWith(200, "Content-Length", fmt.Sprint(len(content)))), "no data for"},
		"other bytes":      {[]http.HandlerFunc{other(len(content))}, "other bytes"},
		"a page":           {[]http.HandlerFunc{other(999)}, "other bytes"},
		"too long":         {[]http.HandlerFunc{other(len(content) + 1)}, "other bytes"},
		"unasked-for part": {[]http.HandlerFunc{wrongPlace}, "bytes 5-"},

		"always too many":        {again(status(429)), "the server answered 429"},
		"redirected to a file":   {[]http.HandlerFunc{redirect("file:///etc/passwd")}, "redirected from http to file:///etc/passwd"},
		"redirected to ftp":      {[]http.HandlerFunc{redirect("ftp://127.0.0.1/file.bin")}, "to ftp://"},
		"redirected to https":    {[]http.HandlerFunc{redirect("https://127.0.0.1/file.bin")}, "from http to https"},
		"redirected to nowhere":  {[]http.HandlerFunc{redirect("")}, "302"},
		"redirected in a circle": {circle, "redirects"},
		"always resumes wrongly": {[]http.HandlerFunc{half, otherHalf, half, otherHalf}, "other bytes"},
		"nothing, and no length": {again(flushed), "broke off after 0 of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, requests := serve(t, c.answers...)
			file := filepath.Join(t.TempDir(), "file.bin")
			err := quickWeb().download(t.Context(), from, file)
			require.ErrorIs(t, err, ErrUnavailable)
			requireOneLine(t, err, "file.bin", c.says)
			require.EqualValues(t, len(c.answers), requests.Load(), "requests")
			require.NoFileExists(t, file)
			if errors.Is(err, errBytes) {
				require.NoFileExists(t, file+".part", "wrong bytes are not kept")
			}
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

// A disk that gets full stops a download, which goes on when there is room again.
func TestDownloadToAFullDisk(t *testing.T) {
	disk := cachetest.Disk(t, 128)
	from, _ := serve(t)
	file := filepath.Join(disk, "file.bin")
	err := quickWeb().download(t.Context(), from, file)
	requireOneLine(t, err, "no space left on device", "file.bin")
	require.NotErrorIs(t, err, ErrUnavailable, "another data set would find no room either")
	require.NoFileExists(t, file)
	info, err := os.Stat(file + ".part")
	require.NoError(t, err)
	require.Positive(t, info.Size())

	cachetest.Resize(t, disk, 1024)
	from, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", info.Size()); got != want {
			t.Errorf("Range %q, want %q", got, want)
		}
		whole(w, r)
	})
	require.NoError(t, quickWeb().download(t.Context(), from, file))
	require.EqualValues(t, 1, requests.Load())
}

// cifarFrom is CIFAR-10 as an archive on a local server, pinned as if it were the official one.
func cifarFrom(t *testing.T, packed []byte) (s source, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.ServeContent(w, r, cifarArchive, time.Time{}, bytes.NewReader(packed))
	}))
	t.Cleanup(server.Close)
	sum := sha256.Sum256(packed)
	w := quickWeb()
	w.stall = 10 * time.Second
	w.cifar = remote{url: server.URL + "/" + cifarArchive, size: int64(len(packed)), sha256: hex.EncodeToString(sum[:])}
	w.cifarSHA256 = blackSHA256
	return w.cifar10(), requests
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

	dir, err := cachePath(CIFAR10Name)
	require.NoError(t, err)
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir), "the archive is not kept")
	resize(t, filepath.Join(dir, cifarFiles[3]), 5)
	require.NoError(t, os.Remove(filepath.Join(dir, cifarFiles[0])))
	// What processes that were killed have left.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "."+cifarFiles[1]+"12345"), []byte("half"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, cifarArchive+".part"), []byte("of something else"), 0o600))
	fetched(3) // once in vain, to go on from those bytes
	require.ElementsMatch(t, cifarFiles, filesBelow(t, dir))

	s.sha256 = cifarOfficial
	_, err = s.cached(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	requireOneLine(t, err, cifarOfficial, EnvVar)
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
