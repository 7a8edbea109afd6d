package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset/datasettest"
)

// A plan has a line for each run; its commands carry the runs out, each by itself, and are refused where anything differs.
func TestPlan(t *testing.T) {
	data, results := datasettest.CIFAR10(t), t.TempDir()+"/with a space"
	args := []string{"--profile", "smoke", "--backend", "cpu", "--data", data, "--results", results,
		"--seeds", "2", "--epochs", "1", "--set", "plain_ops=true;whiten=false"}
	type planned struct {
		ID, Experiment, Command string
		Seed                    int
		Done                    bool
		Seconds                 *float64 `json:"estimated_seconds"`
		Args                    []string
	}
	file := t.TempDir() + "/plan.jsonl"
	plan := func() (lines []planned) {
		status, stdout, stderr := ebssc(append([]string{"plan", "table"}, args...)...)
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o644))
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
	require.Equal(t, planned{ID: second.ID, Experiment: "relu-lc7", Command: second.Command, Args: second.Args, Seed: 2}, second)

	// What a shell makes of the command is what was planned.
	words, err := exec.Command("sh", "-c", "printf '%s\\n' "+second.Command).Output()
	require.NoError(t, err)
	command := strings.Split(strings.TrimSpace(string(words)), "\n")[1:]
	require.Contains(t, command, results)
	require.Equal(t, command, second.Args)
	status, stdout, stderr := ebssc(command...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "ReLU+LC₇, seed 2: train error")
	after := plan()
	require.Equal(t, []bool{false, true}, []bool{after[0].Done, after[1].Done})
	require.NotNil(t, after[0].Seconds, "the other seed says how long it takes")
	require.Nil(t, after[2].Seconds)

	// By its line in the plan it is the same run.
	status, again, stderr := ebssc("run", "--plan", file, "--line", "2")
	require.Zero(t, status, stderr)
	require.Contains(t, again, "ReLU+LC₇, seed 2: train error")
	require.NotContains(t, again, "epoch", "a recorded run is not trained again")

	status, _, stderr = ebssc(append(command, "--epochs", "2")...)
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "not "+second.ID)
	status, _, stderr = ebssc("run", "--id", "relu-lc7-0-12")
	require.Equal(t, 1, status)
	require.Contains(t, stderr, "is no run's id")
}

// What is no line of a plan is refused in a line that says which.
func TestPlanLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("{\n{\"args\":[\"data\",\"fetch\"]}\n{\"args\":[\"run\",\"--nonsense\"]}\n"), 0o644))
	for _, refused := range []struct {
		args []string
		says string
	}{
		{[]string{"--plan", file + "x", "--line", "1"}, "no such file"},
		{[]string{"--plan", file, "--line", "0"}, "has no line 0: give --line 1 to 3"},
		{[]string{"--plan", file, "--line", "4"}, "has no line 4: give --line 1 to 3"},
		{[]string{"--plan", file, "--line", "1"}, "line 1 of " + file + " is none that ebssc plan printed"},
		{[]string{"--plan", file, "--line", "2"}, "line 2 of " + file + " is none that ebssc plan printed"},
		{[]string{"--plan", file, "--line", "3"}, "line 3 of " + file + ": unknown flag: --nonsense"},
		{[]string{"--plan", file, "--line", "3", "--epochs", "2"}, "give none beside them"},
		{[]string{"--plan", file}, "missing [line]"},
	} {
		status, _, stderr := ebssc(append([]string{"run"}, refused.args...)...)
		require.Equal(t, 1, status, refused.args)
		require.Contains(t, stderr, refused.says)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
