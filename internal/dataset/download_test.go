package dataset

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/filetest"
)

// ranged answers with the part of content that is asked for, and breaks off after so many bytes.
func ranged(most int, asked *[]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Header.Get("Range"))
		http.ServeContent(&cut{ResponseWriter: w, left: most}, r, "", time.Time{},
			bytes.NewReader(content))
	}
}

// cut is an answer that breaks off.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(part []byte) (int, error) {
	part = part[:min(c.left, len(part))]
	c.left -= len(part)
	count, _ := c.ResponseWriter.Write(part)
	c.ResponseWriter.(http.Flusher).Flush()
	if c.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return count, nil
}

// impatient makes all waiting short until the test ends.
func impatient(t *testing.T, tries int) {
	before, idle, every := waits, idleTimeout, sayEvery
	t.Cleanup(func() { waits, idleTimeout, sayEvery = before, idle, every })
	waits, idleTimeout = make([]time.Duration, tries), 600*time.Millisecond
}

// A download that breaks off or stalls goes on where it was, in the same process and in the next.
func TestDownloadGoesOn(t *testing.T) {
	impatient(t, 2)
	part, third := filepath.Join(t.TempDir(), "data", "part"), len(content)/3
	var asked []string
	halting := ranged(third, &asked)
	from, _ := serve(t, halting)
	_, err := from.download(t.Context(), part, io.Discard)
	requireOneLine(t, err, fmt.Sprintf("broke off after %d of %d bytes", 2*third, len(content)))
	from, _ = serve(t, func(w http.ResponseWriter, r *http.Request) { // a stall
		asked = append(asked, r.Header.Get("Range"))
		w.Header().Set("Content-Range",
			fmt.Sprintf("bytes %d-%d/%d", 2*third, len(content)-1, len(content)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(content[2*third : 2*third+1])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, halting)
	got, err := from.download(t.Context(), part, io.Discard)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got), "other bytes arrived")
	require.Equal(t, []string{"", fmt.Sprintf("bytes=%d-", third), fmt.Sprintf("bytes=%d-", 2*third),
		fmt.Sprintf("bytes=%d-", 2*third+1)}, asked)
	require.NoFileExists(t, part)
}

// What lies there from an earlier download and does not fit is not kept.
func TestDownloadBeginsAnew(t *testing.T) {
	impatient(t, 3)
	as := ranged(len(content)+1, new([]string)) // answers as it is asked
	refusing, other := status(http.StatusRequestedRangeNotSatisfiable),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%[1]d", len(content)))
			w.WriteHeader(http.StatusPartialContent)
			w.Write(content)
		}
	for name, c := range map[string]struct {
		left    []byte
		answers []http.HandlerFunc
		asked   int // requests
	}{
		"other bytes":     {bytes.Repeat([]byte("x"), 1000), []http.HandlerFunc{as}, 2},
		"all other bytes": {make([]byte, len(content)), []http.HandlerFunc{as}, 1},
		"too many":        {make([]byte, len(content)+1), []http.HandlerFunc{as}, 1},
		"all of it":       {content, []http.HandlerFunc{as}, 0},
		"no part is had":  {content[:1000], []http.HandlerFunc{refusing, sending(content)}, 2},
		"another part":    {content[:1000], []http.HandlerFunc{other, sending(content)}, 2},
	} {
		part := filepath.Join(t.TempDir(), "part")
		filetest.Write(t, part, c.left)
		from, requests := serve(t, c.answers...)
		got, err := from.download(t.Context(), part, io.Discard)
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(content, got), name)
		require.EqualValues(t, c.asked, requests.Load(), name)
	}
}

// A slow download says how far it is. Where the file cannot be written, that is the error.
func TestDownloadTells(t *testing.T) {
	impatient(t, 2)
	sayEvery = idleTimeout / 10
	var log bytes.Buffer
	from, _ := serve(t, slowly)
	_, err := from.download(t.Context(), filepath.Join(t.TempDir(), "part"), &log)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^0 of 0 MB \(\d\d? %\), \d+s left$`, log.String())

	from, _ = serve(t, slowly)
	_, err = from.download(context.Background(), filepath.Join(os.DevNull, "part"), io.Discard)
	requireOneLine(t, err, os.DevNull)
	require.NotErrorIs(t, err, ErrUnavailable)
}
