package cache

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/filetest"
)

const content = "the plugin\n"

// offline makes an empty cache, and a folder of wheels with one wheel in it as pip's only source.
// It returns the pinned file in that wheel.
func offline(t *testing.T) WheelFile {
	t.Helper()
	wheels := t.TempDir()
	t.Setenv(EnvVar, t.TempDir())
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", wheels)

	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for name, content := range map[string]string{
		"ebssctest/lib.so": content,
		"ebssctest-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: ebssctest\n" +
			"Version: 1.0\nRequires-Python: >=99\n",
		"ebssctest-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n" +
			"Tag: py3-none-any\n",
		"ebssctest-1.0.dist-info/RECORD": "",
	} {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	filetest.Write(t, filepath.Join(wheels, "ebssctest-1.0-py3-none-any.whl"), packed.Bytes())
	return WheelFile{
		Requirement:  "ebssctest==1.0",
		WheelSHA256:  fmt.Sprintf("%x", sha256.Sum256(packed.Bytes())),
		Member:       "ebssctest/lib.so",
		MemberSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(content))),
		Room:         1 << 12,
	}
}

// bringing returns a python3 that puts the pinned file where pip shall unpack it, faster than pip.
func bringing(t *testing.T, content string) string {
	file := filepath.Join(t.TempDir(), "brought")
	filetest.Write(t, file, content)
	return fmt.Sprintf("for folder; do :; done\nmkdir -p \"$folder/ebssctest\" && "+
		"cp '%s' \"$folder/ebssctest/lib.so\" && chmod 666 \"$folder/ebssctest/lib.so\"", file)
}

// fetch returns the path of the file that Fetch opens.
func fetch(t *testing.T, f WheelFile) string {
	t.Helper()
	file, err := Fetch(t.Context(), f)
	require.NoError(t, err)
	defer file.Close()
	got, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, content, string(got))
	return file.Name()
}

// fakePython puts a shell script called python3 first on the PATH.
func fakePython(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	filetest.WriteScript(t, filepath.Join(dir, "python3"), script)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// requireNothing checks that the cache holds no file but locks.
func requireNothing(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(os.Getenv(EnvVar), "wheels", "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFetchInstallsOnce(t *testing.T) {
	f := offline(t)
	_, err := Installed(t.Context(), f)
	require.ErrorIs(t, err, ErrMissing)
	requireNothing(t)

	// Python does not run files of the current folder.
	t.Chdir(t.TempDir())
	filetest.Write(t, "pip.py", "raise SystemExit('executed')")
	path := fetch(t, f)
	require.Equal(t, "lib.so", filepath.Base(path))
	for _, folder := range []string{"", ".."} { // the wheel and the temporary folder are gone
		entries, err := os.ReadDir(filepath.Join(filepath.Dir(path), folder))
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}

	fakePython(t, "exit 1")
	require.Equal(t, path, fetch(t, f), "the second call needs no pip")
	installed, err := Installed(t.Context(), f)
	require.NoError(t, err)
	require.Equal(t, path, installed.Name())
	require.NoError(t, installed.Close())
}

// Of pip's settings those count that say where wheels are, and no others, from files as from the
// environment; of Python's, where modules are.
func TestFetchWhateverTheSettings(t *testing.T) {
	elsewhere := t.TempDir()
	requirements := filepath.Join(elsewhere, "requirements.txt")
	filetest.Write(t, requirements, "ebssctest==9.9\n")
	settings := map[string]string{
		"user": "true", "target": elsewhere, "root": elsewhere, "prefix": elsewhere, "dry-run": "true",
		"require-virtualenv": "true", "constraint": requirements, "requirement": requirements,
		"no-binary": ":all:", "platform": "win32", "python-version": "2.7",
		"report": elsewhere + "/report", "quiet": "2", "global": "true",
	}
	t.Run("environment", func(t *testing.T) {
		f := offline(t)
		for name, value := range settings {
			t.Setenv("PIP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), value)
		}
		t.Setenv("PIP_PYTHON", "/no/such/python")
		t.Setenv("PYTHONHOME", elsewhere)
		fetch(t, f)
	})
	t.Run("file", func(t *testing.T) {
		f := offline(t)
		text := "[install]\nno-index = true\nfind-links =\n  " + os.Getenv("PIP_FIND_LINKS") +
			"\n[global]\n"
		for name, value := range settings {
			text += name + " = " + value + "\n"
		}
		config := filepath.Join(t.TempDir(), "pip.conf")
		filetest.Write(t, config, text)
		t.Setenv("PIP_CONFIG_FILE", config)
		t.Setenv("PIP_FIND_LINKS", "")
		t.Setenv("PIP_NO_INDEX", "")
		fetch(t, f)
	})
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// The notebooks' scripts install into a virtual environment, whatever the settings.
func TestRunPipInAVirtualEnvironment(t *testing.T) {
	offline(t)
	venv, elsewhere := filepath.Join(t.TempDir(), "venv"), t.TempDir()
	out, err := exec.Command("python3", "-m", "venv", venv).CombinedOutput()
	if err != nil {
		t.Skipf("python3 has no venv: %s", out)
	}
	for _, name := range []string{"USER", "DRY_RUN"} {
		t.Setenv("PIP_"+name, "1")
	}
	for _, name := range []string{"TARGET", "PREFIX", "ROOT"} {
		t.Setenv("PIP_"+name, elsewhere)
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "python"), "-E", "runpip.py", "install", "--quiet",
		"--ignore-requires-python", "ebssctest==1.0")
	out, err = cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages", "ebssctest"))
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A file in the cache is verified each time: other bytes, of the same size too, are never returned.
func TestFetchRepairs(t *testing.T) {
	f := offline(t)
	fakePython(t, bringing(t, content))
	path := fetch(t, f)
	for name, spoil := range map[string]func() error{
		"truncated":        func() error { return os.Truncate(path, 3) },
		"empty":            func() error { return os.Truncate(path, 0) },
		"of the same size": func() error { return os.WriteFile(path, []byte("evil code!\n"), 0o644) },
		"missing":          func() error { return os.Remove(path) },
		"a folder":         func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
		"a pipe": func() error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644))
		},
	} {
		require.NoError(t, spoil(), name)
		_, err := Installed(t.Context(), f)
		require.ErrorIs(t, err, ErrMissing, name)
		// A killed installation leaves this behind.
		require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(path)+".tmp", "unpacked"), 0o755))
		require.Equal(t, path, fetch(t, f), name)
		require.NoDirExists(t, filepath.Dir(path)+".tmp")
	}
}

func TestFetchErrors(t *testing.T) {
	for want, spoil := range map[string]func(t *testing.T, f *WheelFile){
		"has no ebssctest/lib.so with SHA-256 00": func(t *testing.T, f *WheelFile) {
			fakePython(t, bringing(t, content))
			f.MemberSHA256 = strings.Repeat("0", 64)
		},
		"has no ebssctest/other.so": func(_ *testing.T, f *WheelFile) { f.Member = "ebssctest/other.so" },
		"found for ebssctest==2.0; check the network and pip's index": func(_ *testing.T, f *WheelFile) {
			f.Requirement = "ebssctest==2.0"
		},
		"distribution found for ebssctest; check the network": func(t *testing.T, _ *WheelFile) {
			fakePython(t, "echo 'WARNING: Retrying (Retry(total=0)) after connection broken' >&2\n"+
				"echo 'ERROR: No matching distribution found for ebssctest' >&2\nexit 1")
		},
		"DO NOT MATCH THE HASHES": func(_ *testing.T, f *WheelFile) {
			f.WheelSHA256 = strings.Repeat("0", 64)
		},
		`"python3": executable file not found in $PATH; install Python 3`: func(
			t *testing.T, _ *WheelFile,
		) {
			t.Setenv("PATH", t.TempDir())
		},
		"pip: ImportError: No module named pip; install Python 3": func(t *testing.T, _ *WheelFile) {
			fakePython(t, "echo 'ImportError: No module named pip' >&2\nexit 1")
		},
		"exit status 3": func(t *testing.T, _ *WheelFile) { fakePython(t, "exit 3") },
	} {
		t.Run(want, func(t *testing.T) {
			f := offline(t)
			spoil(t, &f)
			_, err := Fetch(t.Context(), f)
			requireOneLine(t, err, want, f.Requirement)
			requireNothing(t)
		})
	}
}

// A disk without room for the wheel is refused before pip begins. One may get full meanwhile.
func TestFetchOnAFullDisk(t *testing.T) {
	f := offline(t)
	for python, room := range map[string]uint64{
		"echo 'ERROR: pip was called' >&2\nexit 1": 1 << 20,
		"echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on " +
			"device' >&2\nexit 1": 1 << 12,
	} {
		fakePython(t, python)
		t.Setenv(EnvVar, cachetest.Disk(t, 256))
		f.Room = room
		_, err := Fetch(t.Context(), f)
		require.ErrorIs(t, err, ErrUnusable)
		requireOneLine(t, err, "no space left on device; free some room, or set "+EnvVar, f.Requirement)
		requireNothing(t)
	}
	f.Room = 1 << 12
	fakePython(t, "echo 'ERROR: Could not install packages due to an OSError: [Errno 122] Disk "+
		"quota exceeded' >&2\nexit 1")
	_, err := Fetch(t.Context(), f)
	require.ErrorIs(t, err, ErrUnusable)
	requireOneLine(t, err, "quota exceeded; free some room, or set "+EnvVar, f.Requirement)
}

// An installed file can be used from a read-only cache.
func TestFetchFromAReadOnlyCache(t *testing.T) {
	f := offline(t)
	fakePython(t, bringing(t, content))
	disk := cachetest.Disk(t, 256)
	t.Setenv(EnvVar, disk)
	path := fetch(t, f)
	cachetest.ReadOnly(t, disk)
	require.Equal(t, path, fetch(t, f))

	f.MemberSHA256 = strings.Repeat("0", 64)
	_, err := Fetch(t.Context(), f)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "read-only file system; set "+EnvVar)
}

func TestFetchStopsWithContext(t *testing.T) {
	f := offline(t)
	fakePython(t, "exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Fetch(ctx, f)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireNothing(t)
}
