package device

import (
	"path/filepath"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache/cachetest"
)

func TestFreeMemory(t *testing.T) {
	unlimited, err := freeMemory(func() (uint64, error) { return 0, memlimit.ErrNoLimit })
	require.NoError(t, err)
	require.Greater(t, unlimited, uint64(1<<20))
	memory, err := mem.VirtualMemory()
	require.NoError(t, err)
	require.LessOrEqual(t, unlimited, memory.Total)

	limited, err := freeMemory(memlimit.Limit(1 << 20))
	require.NoError(t, err)
	require.EqualValues(t, 1<<20, limited, "a container's limit")
}

func TestFreeDisk(t *testing.T) {
	disk := cachetest.Disk(t, 64)
	for _, dir := range []string{disk, filepath.Join(disk, "results", "not", "there", "yet")} {
		free, err := freeDisk(dir)
		require.NoError(t, err)
		require.EqualValues(t, 64<<10, free)
	}
	cachetest.Fill(t, disk)
	free, err := freeDisk(disk)
	require.NoError(t, err)
	require.Zero(t, free)
}

func TestCheckResources(t *testing.T) {
	need := Requirements{What: "profile paper", Memory: 1, Disk: 1, Folder: filepath.Join(t.TempDir(), "new")}
	for _, f := range CheckResources(need) {
		require.Equal(t, OK, f.Status, f.Detail)
		require.Contains(t, f.Detail, "profile paper needs up to 0 MiB")
		require.Empty(t, f.Do)
	}
	need.Memory, need.Disk = 1<<60, 1<<60
	found := CheckResources(need)
	require.Len(t, found, 2)
	for _, f := range found {
		require.Equal(t, Warn, f.Status, f.Detail)
		require.Contains(t, f.Detail, "profile paper needs up to 1073741824.0 GiB")
		require.NotEmpty(t, f.Do)
		require.NotContains(t, f.Detail+f.Do, "\n")
	}
	require.Contains(t, found[1].Detail, need.Folder)
	require.Contains(t, found[1].Do, "--results")
}
