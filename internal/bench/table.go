package bench

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/google/renameio/v2"
)

// columns of steps.csv. Seconds are those of one step; ratio_to_torch is that of the medians, ratio_low and ratio_high
// are the smallest and the largest of the rounds' ratios. They are empty where PyTorch was not measured.
var columns = []string{
	"row", "batch", "width", "what", "program", "version", "min_s", "median_s", "rounds",
	"ratio_to_torch", "ratio_low", "ratio_high", "commit",
}

// Line is one measurement.
type Line struct {
	// Row is the experiment's name.
	Row string
	Size
	// What was measured, "train" or "inference", in which program of which version.
	What, Program, Version string
	// Min and Median are seconds of a step, over the rounds.
	Min, Median float64
	Rounds      int
	// Ratio of the time to PyTorch's; its zero value where that was not measured.
	Ratio Ratio
	// Commit is the source that this program was built from.
	Commit string
}

// Ratio is that of two programs' times.
type Ratio struct {
	// Median is the ratio of the medians, Low and High are the extremes of the rounds' ratios.
	Median, Low, High float64
}

// ratioOf is the ratio of times to those of reference, round by round.
func ratioOf(times, reference []float64) Ratio {
	ratios := make([]float64, len(times))
	for i := range times {
		ratios[i] = times[i] / reference[i]
	}
	return Ratio{median(times) / median(reference), slices.Min(ratios), slices.Max(ratios)}
}

// median of the values, which stay in their order.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// record is the line as it stands in the file.
func (l Line) record() []string {
	record := []string{l.Row, strconv.Itoa(l.Batch), strconv.Itoa(l.Width), l.What, l.Program, l.Version,
		fmt.Sprintf("%.5f", l.Min), fmt.Sprintf("%.5f", l.Median), strconv.Itoa(l.Rounds)}
	for _, ratio := range []float64{l.Ratio.Median, l.Ratio.Low, l.Ratio.High} {
		text := ""
		if ratio > 0 {
			text = fmt.Sprintf("%.3f", ratio)
		}
		record = append(record, text)
	}
	return append(record, l.Commit)
}

// Update writes lines to a file in place of those that it has for the same rows and sizes; others stay as they are.
func Update(file string, lines []Line) error {
	records, err := read(file)
	if err != nil {
		return err
	}
	for _, line := range lines {
		replaced := line.record()
		records = slices.DeleteFunc(records, func(r []string) bool { return slices.Equal(r[:3], replaced[:3]) })
	}
	for _, line := range lines {
		records = append(records, line.record())
	}
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if err := w.WriteAll(append([][]string{columns}, records...)); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := renameio.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// read returns the records of a file without its heading; none where there is no file.
func read(file string) ([][]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	if len(records) == 0 || !slices.Equal(records[0], columns) {
		return nil, fmt.Errorf("%s has other columns than this program writes: move it away", file)
	}
	return records[1:], nil
}

// Print writes lines as a table for people, in milliseconds.
func Print(out io.Writer, lines []Line) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROW\tBATCH\tWIDTH\tWHAT\tPROGRAM\tVERSION\tMIN ms\tMEDIAN ms\t× PYTORCH\tROUNDS")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%.1f\t%.1f\t", l.Row, l.Batch, l.Width, l.What, l.Program, l.Version, 1e3*l.Min, 1e3*l.Median)
		if l.Ratio.Median > 0 {
			fmt.Fprintf(w, "%.2f\t%.2f–%.2f", l.Ratio.Median, l.Ratio.Low, l.Ratio.High)
		} else {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
