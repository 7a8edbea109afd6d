package device

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
)

// kernel makes the files of a Linux machine with 8 GB available.
func kernel(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n")}}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestFreeMemory(t *testing.T) {
	const available = 8000000 * 1024
	v2 := func(limit string) map[string]string {
		return map[string]string{
			"proc/self/cgroup":                                  "0::/user.slice/run.scope\n",
			"sys/fs/cgroup/user.slice/memory.max":               "max\n",
			"sys/fs/cgroup/user.slice/run.scope/memory.max":     limit + "\n",
			"sys/fs/cgroup/user.slice/run.scope/memory.current": "3000000\n",
			"sys/fs/cgroup/user.slice/run.scope/memory.stat":    "anon 1\ninactive_file 1000000\nactive_file 5\n",
		}
	}
	above := v2("max")
	above["sys/fs/cgroup/user.slice/memory.max"] = "7000000\n"
	above["sys/fs/cgroup/user.slice/memory.current"] = "6000000\n"
	above["sys/fs/cgroup/user.slice/memory.stat"] = "inactive_file 0\n"
	v1 := func(folder, limit string) map[string]string {
		return map[string]string{
			"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n",
			"sys/fs/cgroup/memory" + folder + "/memory.limit_in_bytes": limit + "\n",
			"sys/fs/cgroup/memory" + folder + "/memory.usage_in_bytes": "2000000\n",
			"sys/fs/cgroup/memory" + folder + "/memory.stat":           "inactive_file 1\ntotal_inactive_file 500000\n",
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"no control groups":           {nil, available},
		"groups of other things":      {map[string]string{"proc/self/cgroup": "3:cpuset:/x\n"}, available},
		"without limit":               {v2("max"), available},
		"with a limit":                {v2("5000000"), 3000000},
		"a limit beyond the machine":  {v2("99000000000000"), available},
		"a limit that was lowered":    {v2("1000000"), 0},
		"a limit of the group above":  {above, 1000000},
		"version 1":                   {v1("/docker/abc", "4000000"), 2500000},
		"version 1, without limit":    {v1("/docker/abc", "9223372036854771712"), available},
		"version 1, path of the host": {v1("", "4000000"), 2500000},
	} {
		got, err := freeMemory(kernel(c.files))
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}

	for name, files := range map[string]map[string]string{
		"no number":     v2("five"),
		"a broken line": {"proc/self/cgroup": "nonsense\n"},
		"an old kernel": {"proc/meminfo": "MemTotal: 5 kB\n"},
		"no usage":      {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "5\n"},
	} {
		_, err := freeMemory(kernel(files))
		require.ErrorContains(t, err, "free memory: ", name)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := freeMemory(fstest.MapFS{})
	require.Error(t, err)
}

func TestFreeMemoryHere(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip("no Linux")
	}
	free, err := FreeMemory()
	require.NoError(t, err)
	require.Greater(t, free, uint64(1<<20))
	total, err := readField(os.DirFS("/"), "proc/meminfo", "MemTotal:")
	require.NoError(t, err)
	require.LessOrEqual(t, free, total*1024)
}

func TestFreeDisk(t *testing.T) {
	disk := cachetest.Disk(t, 64)
	for _, dir := range []string{disk, filepath.Join(disk, "results", "not", "there", "yet")} {
		free, err := FreeDisk(dir)
		require.NoError(t, err)
		require.EqualValues(t, 64<<10, free)
	}
	cachetest.Fill(t, disk)
	free, err := FreeDisk(disk)
	require.NoError(t, err)
	require.Zero(t, free)
}

func TestRoom(t *testing.T) {
	need := Need{What: "profile paper", Memory: 1, Disk: 1, Folder: filepath.Join(t.TempDir(), "new")}
	for _, f := range Room(need) {
		require.Equal(t, OK, f.Status, f.Detail)
		require.Contains(t, f.Detail, "profile paper takes up to 0 MiB")
		require.Empty(t, f.Do)
	}
	need.Memory, need.Disk = 1<<60, 1<<60
	found := Room(need)
	require.Len(t, found, 2)
	for _, f := range found {
		require.Equal(t, Warn, f.Status, f.Detail)
		require.Contains(t, f.Detail, "profile paper takes up to 1073741824.0 GiB")
		require.NotEmpty(t, f.Do)
		require.False(t, strings.Contains(f.Detail+f.Do, "\n"))
	}
	require.Contains(t, found[1].Detail, need.Folder)
	require.Contains(t, found[1].Do, "--results")
}
