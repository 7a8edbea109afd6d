package cli_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/made"
)

// A plan has a line for each run; its commands carry the runs out, each by itself, and are refused where anything differs.
func TestPlan(t *testing.T) {
	data, results := made.CIFAR10(t), t.TempDir()+"/with a space"
	args := []string{"--profile", "smoke", "--backend", "cpu", "--data", data, "--results", results,
		"--seeds", "2", "--epochs", "1", "--set", "plain_ops=true;whiten=false"}
	type planned struct {
		ID, Experiment, Command string
		Seed                    int
		Done                    bool
		Seconds                 *float64 `json:"estimated_seconds"`
	}
	plan := func() (lines []planned) {
		status, stdout, stderr := run(append([]string{"plan", "table"}, args...)...)
		require.Zero(t, status, stderr)
		for line := range strings.Lines(stdout) {
			var p planned
			require.NoError(t, json.Unmarshal([]byte(line), &p))
			lines = append(lines, p)
		}
		return lines
	}
	before := plan()
	require.Len(t, before, 5*2)
	second := before[1]
	require.Equal(t, planned{ID: second.ID, Experiment: "relu-lc7", Command: second.Command, Seed: 2}, second)

	// What a shell makes of the command is what was planned.
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+second.Command).Output()
	require.NoError(t, err)
	command := strings.Split(strings.TrimSpace(string(words)), "\n")[1:]
	require.Contains(t, command, results)
	status, stdout, stderr := run(command...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "ReLU+LC₇, seed 2: train error")
	after := plan()
	require.Equal(t, []bool{false, true}, []bool{after[0].Done, after[1].Done})
	require.NotNil(t, after[0].Seconds, "the other seed says how long it takes")
	require.Nil(t, after[2].Seconds)

	status, _, stderr = run(append(command, "--epochs", "2")...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "not "+second.ID)
	status, _, stderr = run("run", "--id", "relu-lc7-0-12")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "is no run's id")
}
