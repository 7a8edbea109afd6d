package device

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test's binary stand in for the program that starts itself again.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_HUGE_PAGES") == "" {
		os.Exit(m.Run())
	}
	if err := RestartWithHugePages(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(os.Getenv(tunables), os.Args[1:])
}

func TestRestartWithHugePages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a setting of glibc")
	}
	for before, after := range map[string]string{
		"":                                 "glibc.malloc.hugetlb=1",
		"glibc.malloc.check=0":             "glibc.malloc.check=0:glibc.malloc.hugetlb=1",
		"glibc.malloc.hugetlb=0":           "glibc.malloc.hugetlb=0",
		"glibc.malloc.hugetlb=2:glibc.x=1": "glibc.malloc.hugetlb=2:glibc.x=1",
	} {
		cmd := exec.Command(os.Args[0], "run", "a b")
		cmd.Env = append(os.Environ(), "TEST_HUGE_PAGES=1", tunables+"="+before)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, after+" [run a b]\n", string(out), "from %q", before)
	}
}
