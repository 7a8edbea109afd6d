package device

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gomlx/go-xla/pjrt"
	"github.com/stretchr/testify/require"

	"ebsscgo/internal/cache"
)

// machineOf is a machine of that system, without plugins.
func machineOf(t *testing.T, system string) machine {
	m := fake{}.machine(t)
	m.cpu = cpuSource(system)
	return m
}

// Each system has a plugin of its own, and doctor says where it comes from and installs nothing.
func TestCPUPluginBySystem(t *testing.T) {
	for system, want := range map[string]struct {
		backend Status
		says    string
	}{
		"linux/amd64":   {OK, "nothing: pip downloads fastatomstruct-xla-cpu==2026.6.23 on the first run"},
		"linux/arm64":   {OK, "nothing: pip downloads xla-cpu-pjrt==0.0.1 on the first run"},
		"darwin/arm64":  {OK, "nothing: GoMLX's installer downloads v0.114.0 from https://github.com/gomlx/pjrt-cpu-binaries/releases on the first run"},
		"darwin/amd64":  {Warn, "no XLA CPU plugin is known for darwin/amd64; put one that you trust"},
		"linux/riscv64": {Warn, "no XLA CPU plugin is known for linux/riscv64; put one that you trust"},
	} {
		t.Run(system, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv(cache.EnvVar, dir)
			m := machineOf(t, system)
			m.cpu = installNothing{m.cpu}
			require.Equal(t, want.backend, m.chosen(t.Context()).Status)
			f := m.cpuPlugin(t.Context())
			require.Equal(t, Missing, f.Status)
			require.Contains(t, f.Detail+": "+f.Do, want.says)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// Pinned plugins are files of their own.
func TestCPUWheels(t *testing.T) {
	files := map[string]bool{}
	for system, wheel := range cpuWheels {
		require.Regexp(t, `^[a-z-]+==[0-9.]+$`, wheel.Requirement, system)
		require.Regexp(t, `^[0-9a-f]{64}$`, wheel.WheelSHA256, system)
		require.Regexp(t, `^[0-9a-f]{64}$`, wheel.MemberSHA256, system)
		require.Equal(t, ".so", filepath.Ext(wheel.Member), system)
		files[wheel.MemberSHA256] = true
	}
	require.Len(t, files, len(cpuWheels))
}

// A cache folder with the wrong name is an error, not days on the Go backend.
func TestResolveWithoutCache(t *testing.T) {
	for _, system := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		for _, name := range []string{cache.EnvVar, "HOME", "XDG_CACHE_HOME"} {
			t.Setenv(name, "")
		}
		_, err := machineOf(t, system).resolve(t.Context(), "")
		require.ErrorIs(t, err, cache.ErrUnusable, system)
		require.ErrorContains(t, err, "set HOME, or "+cache.EnvVar, system)
		require.NotContains(t, err.Error(), "\n", system)
	}
}

// What GoMLX's installer has installed is found again. Without network it says in one line what to do.
func TestGoMLXInstaller(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(cache.EnvVar, dir)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	m := machineOf(t, "darwin/arm64")
	_, err := m.find(t.Context(), "cpu")
	require.ErrorContains(t, err, "check the network, or "+provideCPU)
	require.NotContains(t, err.Error(), "\n")

	path := filepath.Join(dir, "go-xla", "pjrt_c_api_cpu_"+pjrt.DefaultCPUVersion+"_plugin.so")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	found, err := m.find(t.Context(), "cpu")
	require.NoError(t, err)
	require.Equal(t, path, found)
}
