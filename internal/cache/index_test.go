package cache

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// index makes an address pip's only source, and pip impatient.
func index(t *testing.T, address string) {
	t.Setenv("PIP_NO_INDEX", "0")
	t.Setenv("PIP_FIND_LINKS", "")
	t.Setenv("PIP_INDEX_URL", address)
	t.Setenv("PIP_RETRIES", "1")
	t.Setenv("PIP_DEFAULT_TIMEOUT", "3")
	t.Setenv("NO_PROXY", "127.0.0.1")
}

// serveWheel makes pip's only source a package index that gives these answers to the first requests for the wheel, one each, and
// the wheel to all later ones.
func serveWheel(t *testing.T, wheel string, answers ...http.HandlerFunc) (requests *atomic.Int32) {
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, wheelName) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="%s">%s</a>`, wheelName, wheelName)
			return
		}
		if n := int(requests.Add(1)) - 1; n < len(answers) {
			answers[n](w, r)
			return
		}
		http.ServeFile(w, r, wheel)
	}))
	t.Cleanup(server.Close)
	index(t, server.URL+"/simple/")
	return requests
}

// part sends half of a wheel.
func part(w http.ResponseWriter, wheel []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(wheel)))
	w.Write(wheel[:len(wheel)/2])
	w.(http.Flusher).Flush()
}

// A download that breaks off or stalls, and a server in trouble, are tried again. Other bytes, whichever way they come, are never installed.
func TestFetchFromABadIndex(t *testing.T) {
	f, wheel := offline(t)
	packed, err := os.ReadFile(wheel)
	require.NoError(t, err)
	local := filepath.Join(t.TempDir(), wheelName)
	require.NoError(t, os.WriteFile(local, makeWheel(t, map[string]string{f.Member: content}), 0o644))
	cut := func(w http.ResponseWriter, _ *http.Request) {
		part(w, packed)
		panic(http.ErrAbortHandler)
	}
	stall := func(w http.ResponseWriter, r *http.Request) {
		part(w, packed)
		<-r.Context().Done()
	}
	trouble := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	other := func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, len(packed))) }
	shorter := func(w http.ResponseWriter, _ *http.Request) { w.Write(packed[:len(packed)-1]) }
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
	}
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		fails   string
	}{
		"trouble, then the wheel":            {[]http.HandlerFunc{cut, stall, trouble}, ""},
		"other bytes, a local file, too few": {[]http.HandlerFunc{other, redirect("file://" + local), shorter}, "DO NOT MATCH THE HASHES"},
		"not found":                          {slices.Repeat([]http.HandlerFunc{http.NotFound}, attempts), "404"},
		"another scheme":                     {slices.Repeat([]http.HandlerFunc{redirect("ftp://127.0.0.1/" + wheelName)}, attempts), "ftp://127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(EnvVar, t.TempDir())
			requests := serveWheel(t, wheel, c.answers...)
			path, err := Fetch(t.Context(), f)
			if c.fails == "" {
				require.NoError(t, err)
				requireContent(t, path)
				require.Greater(t, int(requests.Load()), len(c.answers))
				return
			}
			requireOneLine(t, err, c.fails, f.Requirement, "; check the network")
			require.EqualValues(t, len(c.answers), requests.Load())
			requireNothing(t)
		})
	}
}
