package device

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// restart lets the test's binary stand in for the program that starts itself again, see TestMain.
func restart() {
	if err := RestartWithHugePages(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(os.Getenv("GLIBC_TUNABLES"), os.Args[1:])
}

func TestOneLine(t *testing.T) {
	require.Equal(t, "no plugin; it is not there",
		OneLine(errors.New("no plugin\n\tit is not there\n")))
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
		cmd.Env = append(os.Environ(), "TEST_HUGE_PAGES=1", "GLIBC_TUNABLES="+before)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equal(t, after+" [run a b]\n", string(out), "from %q", before)
	}
}

// A limit that is too small is refused in one line, before Go runs.
func TestLimits(t *testing.T) {
	for limit, name := range map[string]string{
		"-v 100000": "address space", "-v 1000000": "address space", "-v 1300000": "address space",
		"-d 100000": "data", "-s 64": "stack",
	} {
		cmd := exec.Command("sh", "-c", "ulimit "+limit+` && exec "$0"`, os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_HUGE_PAGES=1", "GLIBC_TUNABLES=glibc.malloc.hugetlb=0")
		out, err := cmd.CombinedOutput()
		require.ErrorContains(t, err, "exit status 1", limit)
		says := `^the limit on the ` + name + ` \(ulimit -.\) is \d+ KiB: ` +
			`give at least \d+, or unlimited\n$`
		require.Regexp(t, says, string(out))
	}
}
