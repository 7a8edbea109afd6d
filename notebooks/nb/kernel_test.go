package nb

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/dataset"
	"ebsscgo/internal/dataset/datasettest"
	"ebsscgo/internal/device/devicetest"
)

func TestMain(m *testing.M) {
	devicetest.CompileFast() // for the cells, too
	os.Exit(m.Run())
}

// answer is what a cell has written so far, see testdata/kernels.py.
type answer struct {
	Text, Status string
	Places       map[string]string
	Updates      int
}

// place returns what the updated place of a cell's output shows that has a text.
func (a answer) place(t *testing.T, text string) string {
	for _, shown := range a.Places {
		if strings.Contains(shown, text) {
			return shown
		}
	}
	require.Fail(t, "no such place", "%q in %+v", text, a)
	return ""
}

// kernels starts kernels in a new folder of notebooks with small data, as the notebooks' scripts
// do. It returns how to give commands to one by its name.
func kernels(t *testing.T) func(kernel string, command map[string]any) answer {
	data, notebooks := t.TempDir(), filepath.Join(t.TempDir(), "notebooks")
	require.NoError(t, os.Mkdir(notebooks, 0o755))
	datasettest.MNIST(t, data, 1000)
	environment, err := filepath.Abs("../environment.sh")
	require.NoError(t, err)
	script, err := filepath.Abs("testdata/kernels.py")
	require.NoError(t, err)
	cmd := exec.Command("bash", "-c", `source "$0" >&2 && exec "$python" "$1"`, environment, script)
	cmd.Dir, cmd.Stderr = notebooks, os.Stderr
	// Without gopls, which each kernel would start to complete names: it reads the whole workspace.
	path := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(folder string) bool {
		_, completes := os.Stat(filepath.Join(folder, "gopls"))
		_, compiles := os.Stat(filepath.Join(folder, "go"))
		return completes == nil && compiles != nil
	})
	cmd.Env = append(os.Environ(), dataset.EnvVar+"="+data,
		"PATH="+strings.Join(path, string(os.PathListSeparator)))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	lines := bufio.NewReader(out)
	return func(kernel string, command map[string]any) (a answer) {
		command["kernel"] = kernel
		require.NoError(t, json.NewEncoder(in).Encode(command))
		line, err := lines.ReadBytes('\n')
		if err != io.EOF {
			require.NoError(t, err)
		}
		require.NoError(t, json.Unmarshal(line, &a), "%s", line)
		return a
	}
}

// declarations are those of a notebook with a row of one's own that trains in a moment.
const declarations = `import (
	"fmt"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/pipeline"
	"ebsscgo/notebooks/nb"
)

const β = 0.01

type tiny struct{ filters int }

func (t tiny) Network(width int) ebssc.Network {
	return ebssc.Network{Height: 28, Width: 28, Channels: 1, Classes: 10, Classifier: ebssc.EnergySum,
		Layers: []ebssc.Layer{{Name: "conv1", Block: &ebssc.Block{
			Filters: t.filters, Kernel: 3, Stride: 4, Padding: 1, Coding: ebssc.EBC}}}}
}

func row(ŵ int) experiments.Experiment {
	return experiments.Experiment{Name: "mine", Title: "mine", Architecture: tiny{ŵ},
		Change: func(h *experiments.Hyper) {
			h.Preprocessing, h.Flip, h.Crop, h.Beta = experiments.Raw, 0, 0, β
		}}
}
`

// training writes a cell that trains the row with so many filters.
func training(filters, epochs int) string {
	return fmt.Sprintf(`%%%%
o := pipeline.Options{Profile: "smoke", Overrides: experiments.Overrides{Epochs: %d}}
fmt.Println(nb.Train(o, row(%d))[0][0].ID)`, epochs, filters)
}

// epochOf returns the epoch that the bar of a training names.
func epochOf(t *testing.T, a answer) int {
	number := regexp.MustCompile(`epoch (\d+) of`).FindStringSubmatch(a.place(t, "epoch"))
	require.NotEmpty(t, number)
	epoch, err := strconv.Atoi(number[1])
	require.NoError(t, err)
	return epoch
}

// What people do in cells all day, on the real kernel: notebooks/in_cells.md says what of it is the
// kernel's own way. A hundred runs in a cell took two minutes when it was tried:
// TestManyRuns shows them.
func TestWorkInCells(t *testing.T) {
	do := kernels(t)
	run := func(kernel, code string) answer { return do(kernel, map[string]any{"code": code}) }
	require.Equal(t, "ok", run("a", declarations).Status)

	first := run("a", training(4, 2))
	require.Equal(t, "ok", first.Status, first)
	require.Contains(t, first.place(t, "trained"), strings.Repeat("█", 30)+"` 1 of 1 runs trained")
	require.Contains(t, first.place(t, "image"), "image/png")

	// The row is changed and its cell run again. Meanwhile another kernel is refused the same run, and
	// trains another one. Interrupted, the cell goes on the next time from the step that it saved.
	const epochs = 9000
	begun := do("a", map[string]any{"code": training(5, epochs), "until": "epoch "})
	require.Equal(t, "ok", run("b", declarations).Status)
	refused := run("b", training(5, epochs))
	const line = `\[\[ Cell \[\d+\] Line 3 \]\].*: `
	require.Regexp(t, line+`another process is training mine-1-\w+: wait`, refused.Text)
	require.Equal(t, "ok", run("b", training(6, 2)).Status)
	do("a", map[string]any{"interrupt": true})
	stopped := do("a", map[string]any{"wait": true})
	require.Equal(t, "error", stopped.Status)
	require.Regexp(t, line+`interrupted: run the cell again, .*\nexit`, stopped.Text)
	require.Greater(t, stopped.Updates, begun.Updates, "bar and chart change in place")
	again := do("a", map[string]any{"code": training(5, epochs), "until": "epoch "})
	require.GreaterOrEqual(t, epochOf(t, again), epochOf(t, stopped))
	do("a", map[string]any{"interrupt": true})
	require.Equal(t, "error", do("a", map[string]any{"wait": true}).Status)

	// What is declared again counts for the cells after it; what no longer fits is named with its
	// line.
	require.Contains(t, run("a", "type tiny struct{ count int }").Text, "t.filters undefined")
	require.Equal(t, "ok", run("a", "const β = 0.5").Status)
	require.NotEqual(t, first.Text, run("a", training(4, 2)).Text, "β is part of the run")

	// A panic and an error name the line. GoNB looks for lines in each piece of a trace that it reads:
	// in one that arrives in two pieces the name may be missing, so a panic has five tries.
	panicked := ""
	for range 5 {
		panicked = run("a", "%%\nvar none []int\nfmt.Println(none[3:][0])").Text
		require.Contains(t, panicked, "slice bounds out of range [3:0]")
		if strings.Contains(panicked, " Line 3 ]]") {
			break
		}
	}
	require.Contains(t, panicked, " Line 3 ]]")
	wrong := run("a", "%%\nnb.Check(fmt.Errorf(\"a: one\\nline\"))").Text
	require.Regexp(t, `^ \S*\[\[ Cell \[\d+\] Line 2 \]\].*: a: one; line\nexit status 1\n`, wrong)

	// After a restart cells are run again, and trainings are there.
	do("b", map[string]any{"restart": true})
	require.Equal(t, "error", run("b", training(4, 2)).Status)
	require.Equal(t, "ok", run("b", declarations).Status)
	require.Equal(t, first.Text, run("b", training(4, 2)).Text)
}
