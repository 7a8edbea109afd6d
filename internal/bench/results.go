package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/perf/benchfmt"

	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/stats"
)

// units of a round's values in Go's benchmark format, and how their medians are printed. GFLOP/s of training count the network's
// convolutions by their definition ([ebssc.Network.TrainingFLOP]), however a program computes them; peak-share is their ratio to the
// device's [Peak]. The first training step of a process builds and compiles. MiB are the process's peak resident memory in a
// turn, with the program and its libraries.
var units = []struct{ name, format string }{
	{"sec/step", "%.4f"}, {"images/s", "%.0f"}, {"GFLOP/s", "%.0f"}, {"peak-share", "%.2f"}, {"sec/first-step", "%.1f"}, {"MiB", "%.0f"},
}

// result is what one program's steps cost in one case.
type result struct {
	experiment string
	size       Size
	// what was measured, training or inference, in which program of which version.
	what, program, version string
	// rounds have a value for each of units; 0 if it was not measured.
	rounds [][]float64
}

// newResult derives a program's values from a measurement; peak is in GFLOP/s. The operations of inference and of networks with
// sweeps are not known.
func newResult(c testCase, what string, p *peer, measured measurement, peak float64) (result, error) {
	r := result{experiment: c.experiment, size: c.size, what: what, program: p.name, version: p.version}
	var gflop, first float64
	if what == training { // inference was compiled when the scores were compared
		flop, err := c.Network.TrainingFLOP()
		if err != nil {
			return r, err
		}
		gflop, first = float64(flop*c.size.Batch)/1e9, measured.first
	}
	for _, spent := range measured.rounds {
		speed := gflop / spent.seconds
		r.rounds = append(r.rounds, []float64{spent.seconds, float64(c.size.Batch) / spent.seconds, speed, speed / peak, first, spent.peakMiB})
		first = 0 // it stands beside the first round
	}
	return r, nil
}

// column is the values of a unit in the rounds where it was measured.
func (r result) column(unit int) (values []float64) {
	for _, round := range r.rounds {
		if round[unit] > 0 {
			values = append(values, round[unit])
		}
	}
	return values
}

// name in Go's benchmark format, as Train/experiment=crelu-lc7/batch=32/width=96/program=torch-2 on two cores.
func (r result) name() string {
	return fmt.Sprintf("%s/experiment=%s/batch=%d/width=%d/program=%s-%d",
		map[string]string{training: "Train", inference: "Inference"}[r.what], r.experiment, r.size.Batch, r.size.Width, r.program, runtime.NumCPU())
}

// record is a file of measurements in Go's benchmark format, which benchstat reads: a line for each round, below lines that say where and
// how it was measured. Measurements are appended; what the file has stays.
type record struct {
	file   string
	config []benchfmt.Config
}

// openRecord opens a file, which need not exist, to append what a plan measures on this machine. peak is in GFLOP/s.
func openRecord(file string, plan Plan, peak float64) (*record, error) {
	r := &record{file: file}
	if _, err := r.read(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { // now, not after minutes of measuring
		return nil, err
	}
	for _, pair := range [][2]string{
		{"date", time.Now().UTC().Format(time.RFC3339)}, {"commit", plan.Commit}, {"goos", runtime.GOOS}, {"goarch", runtime.GOARCH},
		{"cpu", cpuid.CPU.BrandName}, {"cpu-features", cpuFeatures()}, {"backend", plan.Backend}, {"peak", fmt.Sprintf("%.1f GFLOP/s", peak)},
	} {
		r.config = append(r.config, benchfmt.Config{Key: pair[0], Value: []byte(pair[1]), File: true})
	}
	return r, nil
}

// read returns what the file has, and an empty line if it has anything.
func (r *record) read() (text []byte, err error) {
	text, err = os.ReadFile(r.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(text) > 0 {
		text = append(text, '\n')
	}
	return text, nil
}

// add appends the results of a case to what the file has now: other measurements may have been added to it.
func (r *record) add(results []result) error {
	text, err := r.read()
	if err != nil {
		return err
	}
	added := bytes.NewBuffer(text)
	writer := benchfmt.NewWriter(added)
	var versions []string
	for _, measured := range results {
		if measured.what == training {
			versions = append(versions, measured.program+" "+measured.version)
		}
	}
	config := append(slices.Clone(r.config), benchfmt.Config{Key: "versions", Value: []byte(strings.Join(versions, ", ")), File: true})
	for _, measured := range results {
		for _, round := range measured.rounds {
			line := &benchfmt.Result{Config: config, Name: benchfmt.Name(measured.name()), Iters: stepsPerTurn}
			for i, value := range round {
				if value > 0 {
					line.Values = append(line.Values, benchfmt.Value{Value: significant(value), Unit: units[i].name})
				}
			}
			if err := writer.Write(line); err != nil {
				return err
			}
		}
	}
	return atomicfile.Write(r.file, added.Bytes())
}

// significant rounds to five significant digits, more than any clock here is worth.
func significant(value float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 5, 64), 64) // what was formatted can be parsed
	return rounded
}

// printMedians prints a table of medians over the rounds. Beside them stands the ratio of the median time to PyTorch's, with the
// smallest and largest ratio of a round.
func printMedians(out io.Writer, results []result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "experiment\tbatch\twidth\tmeasured\tprogram")
	for _, unit := range units {
		fmt.Fprint(w, "\t", unit.name)
	}
	fmt.Fprintln(w, "\t× PyTorch")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s", r.experiment, r.size.Batch, r.size.Width, r.what, r.program)
		for i, unit := range units {
			cell := ""
			if values := r.column(i); len(values) > 0 {
				cell = fmt.Sprintf(unit.format, stats.Median(values))
			}
			fmt.Fprint(w, "\t", cell)
		}
		ratio := ""
		if torch := slices.IndexFunc(results, r.besideTorch); torch >= 0 {
			middle, low, high := ratioOf(r.column(0), results[torch].column(0))
			ratio = fmt.Sprintf("%.2f (%.2f–%.2f)", middle, low, high)
		}
		fmt.Fprintln(w, "\t"+ratio)
	}
	return w.Flush()
}

// besideTorch is true for PyTorch's result of the same measurement.
func (r result) besideTorch(other result) bool {
	return other.program == torchPeer && other.experiment == r.experiment && other.size == r.size && other.what == r.what
}

// ratioOf is the ratio of the medians, and the smallest and largest ratio of a round.
func ratioOf(times, reference []float64) (middle, low, high float64) {
	ratios := make([]float64, len(times))
	for i := range times {
		ratios[i] = times[i] / reference[i]
	}
	return stats.Median(times) / stats.Median(reference), slices.Min(ratios), slices.Max(ratios)
}
