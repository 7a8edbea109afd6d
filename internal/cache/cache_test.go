package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
	"ebsscgo/internal/filetest"
)

func TestLocate(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	link := filepath.Join(home, "link")
	require.NoError(t, os.Symlink(filepath.Join(home, "new"), link))
	for env, want := range map[string]string{
		"": ".cache/ebssc", filepath.Join(home, "new", "folder"): "new/folder", link: "new",
	} {
		t.Setenv(EnvVar, env)
		want = filepath.Join(home, want)
		if env == link {
			require.NoError(t, os.Mkdir(want, 0o755))
		}
		dir, err := Locate()
		require.NoError(t, err)
		require.Equal(t, want, dir)
		if env != link {
			require.NoDirExists(t, want)
		}
	}
}

func TestErrors(t *testing.T) {
	refused := func(t *testing.T, contains ...string) {
		t.Helper()
		_, err := LoadOrMake(t.Context(), "kind", "name", func(string) string { return "" },
			func(string) error { return nil })
		requireOneLine(t, err, contains...)
		require.ErrorIs(t, err, ErrUnusable)
	}
	t.Run("no home, or a relative path", func(t *testing.T) {
		t.Chdir(t.TempDir())
		names := []string{EnvVar, "HOME", "XDG_CACHE_HOME"}
		for _, name := range names {
			for _, other := range names {
				t.Setenv(other, "")
			}
			refused(t, "set HOME, or "+EnvVar)
			t.Setenv(name, "here")
			refused(t, "relative", EnvVar)
		}
		require.NoDirExists(t, "here")
	})
	t.Run("a file is in the way", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		filetest.Write(t, file, "")
		link := file + " gone" // to a disk that is not mounted
		require.NoError(t, os.Symlink("/nowhere", link))
		for _, dir := range []string{file, filepath.Join(file, "below"), link} {
			t.Setenv(EnvVar, dir)
			refused(t, file, "set "+EnvVar)
		}
	})
	t.Run("a full disk", func(t *testing.T) {
		dir := cachetest.Disk(t, 64)
		cachetest.Fill(t, dir)
		t.Setenv(EnvVar, dir)
		refused(t, dir, "no space left on device", "set "+EnvVar)
	})
	t.Run("a disk that can only be read", func(t *testing.T) {
		dir := cachetest.Disk(t, 64)
		cachetest.ReadOnly(t, dir)
		for _, dir := range []string{dir, filepath.Join(dir, "new")} {
			t.Setenv(EnvVar, dir)
			refused(t, dir, "read-only file system", "set "+EnvVar)
			located, err := Locate()
			require.NoError(t, err, "it may be read")
			require.Equal(t, dir, located)
		}
	})
}

func TestExplain(t *testing.T) {
	require.NoError(t, explain(nil))
	other := errors.New("other")
	require.Equal(t, other, explain(other))
	full := explain(&fs.PathError{Op: "write", Path: "/file", Err: syscall.ENOSPC})
	requireOneLine(t, full, "/file", "no space left", "free some room", EnvVar)
	for _, refused := range []error{syscall.ENOTSUP, syscall.ENOSYS, syscall.ENOLCK, syscall.EINVAL} {
		flockless := explain(fmt.Errorf("waiting for the lock /lock: %w", refused))
		requireOneLine(t, flockless, "/lock", "which its disk refuses", "another disk", EnvVar)
		require.ErrorIs(t, flockless, ErrUnusable)
	}
	require.Equal(t, full, explain(full), "once")
}

// Nothing is loaded that another user could change or exchange: a file, its folders, the cache
// folder, and the folders above.
func TestOthersFiles(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "cache")
	file := filepath.Join(dir, "kind", "name")
	filetest.Write(t, file, "planted")
	t.Setenv(EnvVar, dir)
	load := func() error {
		found, err := LoadOrMake(t.Context(), "kind", "name", func(path string) string { return path },
			func(string) error { return errors.New("made") })
		require.Equal(t, err == nil, found == file)
		return err
	}
	require.NoError(t, load())
	for _, place := range []string{file, filepath.Dir(file), dir, above} {
		info, err := os.Stat(place)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(place, info.Mode()|0o002))
		requireOneLine(t, load(), "another user can change "+place, "set "+EnvVar)
		require.NoError(t, os.Chmod(place, 0o777|os.ModeSticky))
		require.Equal(t, place == file || place == dir, load() != nil,
			"others cannot exchange what is in %s", place)
		require.NoError(t, os.Chmod(place, 0o775))
		require.NoError(t, load(), "the user's group may write")
		if os.Geteuid() == 0 {
			require.NoError(t, os.Lchown(place, 0, 65534))
			requireOneLine(t, load(), "another user can change "+place)
			require.NoError(t, os.Chmod(place, info.Mode()))
			require.NoError(t, load(), "a group that may not write")
			require.NoError(t, os.Lchown(place, 65534, 0))
			requireOneLine(t, load(), "another user can change "+place)
			require.NoError(t, os.Lchown(place, 0, 0))
		}
		require.NoError(t, os.Chmod(place, info.Mode()))
	}
	require.NoError(t, os.Chmod(above, 0o777|os.ModeSticky))
	t.Setenv(EnvVar, filepath.Join(above, "new"))
	requireOneLine(t, load(), "mkdir "+filepath.Join(above, "new"), "set "+EnvVar)
}

// locateEnv makes this test's program print what Locate returns, and end.
const locateEnv = "TEST_LOCATE"

func TestMain(m *testing.M) {
	if os.Getenv(locateEnv) != "" {
		dir, err := Locate()
		fmt.Println(dir, err)
		return
	}
	os.Exit(m.Run())
}

// passable makes a folder that every user may pass.
func passable(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

// located returns what this test's program prints when it is another user, in another user
// namespace.
func located(t *testing.T, dir string, attributes *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), locateEnv+"=1", EnvVar+"="+dir)
	cmd.SysProcAttr = attributes
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("no user namespace, and no other user, can be had here: %v", err)
	}
	require.NoError(t, err, "%s", out)
	return string(out)
}

// In a user namespace without root, as Apptainer makes it, root's folders seem to be nobody's. The
// cache folder below them must still be the user's.
func TestLocateInUserNamespace(t *testing.T) {
	dir, user := passable(t), os.Geteuid()
	if user == 0 {
		user = 12345
		require.NoError(t, os.Chown(dir, user, user))
	}
	inside := &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 1000, HostID: user, Size: 1}},
		Credential:  &syscall.Credential{Uid: 1000, Gid: 1000, NoSetGroups: true},
	}
	require.Equal(t, dir+" <nil>\n", located(t, dir, inside))
	require.Contains(t, located(t, "/usr", inside), "another user can change /usr")
}

// A folder of one of the user's groups, but not the first, is taken with a warning; that of another
// group is refused.
func TestLocateInGroupFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become a user with other groups")
	}
	project := passable(t)
	dir := filepath.Join(project, "cache")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, errors.Join(os.Chown(project, 0, 500), os.Chown(dir, 12345, 500)))
	require.NoError(t, os.Chmod(project, 0o775|fs.ModeSetgid))
	as := func(groups ...uint32) string {
		user := &syscall.Credential{Uid: 12345, Gid: 12345, Groups: groups}
		return located(t, dir, &syscall.SysProcAttr{Credential: user})
	}
	warned := as(500, 501)
	require.Regexp(t, "^warning: the members of group 500 can change "+project+",.*\n"+dir+" <nil>\n$",
		warned)
	require.Contains(t, as(501), "another user can change "+project)
}

// Root in a container may use the home that is mounted there, whose owner can change it.
func TestLocateInMountedHome(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be in another user's home")
	}
	home, other := t.TempDir(), t.TempDir()
	require.NoError(t, errors.Join(os.Chown(home, 12345, 12345), os.Chown(other, 12346, 12346)))
	t.Setenv("HOME", home)
	warned := located(t, filepath.Join(home, "cache"), nil)
	require.Regexp(t, "^warning: user 12345 can change "+home+",.*\n"+home+"/cache <nil>\n$", warned)
	require.Contains(t, located(t, other, nil), "another user can change "+other)
}

// Of several at once one makes what is missing; others wait for it, but not for what has another
// name.
func TestLoadOrMake(t *testing.T) {
	t.Setenv(EnvVar, t.TempDir())
	load := func(path string) string {
		content, _ := os.ReadFile(path)
		return string(content)
	}
	var made atomic.Int32
	create := func(path string) error {
		made.Add(1)
		time.Sleep(20 * time.Millisecond)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte("made"), 0o644))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			found, err := LoadOrMake(t.Context(), "kind", "name", load, create)
			if found != "made" || err != nil {
				t.Error(found, err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, made.Load())

	held, err := lock(t.Context(), os.Getenv(EnvVar), "kind-held")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = LoadOrMake(ctx, "kind", "held", load, create)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireOneLine(t, err, "kind held is not in the cache", "kind-held.lock")
	_, err = LoadOrMake(t.Context(), "kind", "other", load, create)
	require.NoError(t, err)
	require.NoError(t, held.Close())
	_, err = LoadOrMake(t.Context(), "kind", "held", load, create)
	require.NoError(t, err)
	_, err = LoadOrMake(t.Context(), "kind", "never", func(string) string { return "" }, create)
	requireOneLine(t, err, filepath.Join("kind", "never"), "check that disk", EnvVar)
}

func requireOneLine(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	for _, part := range contains {
		require.ErrorContains(t, err, part)
	}
}
