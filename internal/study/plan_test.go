package study

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// sessionOn is a session at profile smoke on made digits, which trains nothing.
func sessionOn(t *testing.T, jobs int) *Session {
	profile, err := experiments.FindProfile("smoke")
	require.NoError(t, err)
	images := func(count int) dataset.Images {
		return dataset.Images{Height: 28, Width: 28, Channels: 1, Pixels: make([]uint8, count*28*28), Labels: make([]uint8, count)}
	}
	set := &dataset.Set{Name: "mnist", SHA256: strings.Repeat("0", 64), Train: images(1000), Test: images(1000)}
	return &Session{
		Options: Options{Profile: "smoke", Devices: 1, Jobs: jobs, Results: t.TempDir()}, profile: profile,
		runners: map[experiments.Images]*train.Runner{experiments.MNIST: {Set: set, Places: map[string]train.Place{}}},
	}
}

// Inference with T sweeps counts as T + 1 bottom-up passes. With two jobs the longest runs come first, and the run beside one
// is not left when that ends; nor are recorded runs.
func TestTimeLeftOfAllRuns(t *testing.T) {
	unroll, err := Suite.Study("unroll")
	require.NoError(t, err)
	for _, c := range []struct {
		jobs     int
		recorded []int // numbers of sweeps
		order    string
		later    map[int]float64 // by number of sweeps: the work left for all jobs, over the run's own
	}{
		{1, nil, "01234", map[int]float64{0: 2 + 3 + 4 + 5, 3: 5.0 / 4, 4: 0}},
		{1, []int{2, 4}, "01234", map[int]float64{0: 2 + 4, 1: 4.0 / 2, 3: 0}},
		{2, nil, "43210", map[int]float64{4: (3 + 2 + 1) / 5.0 / 2, 3: (2 + 1) / 4.0 / 2, 1: 0, 0: 0}},
	} {
		s := sessionOn(t, c.jobs)
		for _, sweeps := range c.recorded {
			runs, err := s.Plan(unroll, unroll.Experiments[sweeps], s.runners[experiments.MNIST].Dataset())
			require.NoError(t, err)
			path := record.Path(filepath.Join(s.Folder(), record.Folder), runs[0].ID())
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		plans, err := s.plan(context.Background(), experiments.Suite{unroll})
		require.NoError(t, err)
		require.Len(t, plans, 1)
		require.Equal(t, len(unroll.Experiments)-len(c.recorded), plans[0].missing)
		order := ""
		for i, run := range plans[0].runs {
			order += string(rune('0' + run.Network.Sweeps))
			place := plans[0].runner.Places[run.ID()]
			require.Contains(t, place.Name, string(rune('1'+i))+" of 5, T = ")
			if want, ok := c.later[run.Network.Sweeps]; ok {
				require.InDelta(t, want, place.Later, 1e-9, "%d jobs, T = %d", c.jobs, run.Network.Sweeps)
			}
		}
		require.Equal(t, c.order, order)
	}
}

// A record names the commit of its sources, and says if they had changes; new results and logs are none.
func TestCommit(t *testing.T) {
	if stamped, _ := stamp(); stamped != "" {
		t.Skip("the test's own program names its commit")
	}
	folder := t.TempDir()
	t.Chdir(folder)
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	require.Equal(t, unknownCommit, Commit())
	git("init")
	write("go.mod", "module another\n")
	git("add", ".")
	git("commit", "-m", "one")
	require.Equal(t, unknownCommit, Commit(), "of another program")
	write("go.mod", "module ebsscgo\n")
	write("results/quick/table.md", "")
	git("add", ".")
	git("commit", "-m", "two")
	head := git("rev-parse", "--short=12", "HEAD")
	require.Equal(t, head, Commit())
	write("results/quick/table.md", "a new one")
	write("results/quick/claims.md", "")
	write("nohup.out", "")
	require.Equal(t, head, Commit())
	for age, want := range map[time.Duration]bool{time.Hour: true, -100 * time.Hour: false} {
		when := time.Now().Add(age)
		require.NoError(t, os.Chtimes("go.mod", when, when))
		require.Equal(t, want, newer(), age)
	}
	write("new.go", "package main\n")
	require.Equal(t, head+"+changes", Commit())
	git("add", ".")
	git("commit", "-m", "three")
	write("go.mod", "module ebsscgo\n\n")
	require.Equal(t, git("rev-parse", "--short=12", "HEAD")+"+changes", Commit())
}
