package bench

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"ebsscgo/internal/table"
)

// steps is steps.csv. Seconds are those of one step; ratio_to_torch is that of the medians, ratio_low and ratio_high
// are the smallest and the largest of the rounds' ratios. They are empty where PyTorch was not measured.
var steps = table.Layout{Keys: 3, Columns: []string{
	"row", "batch", "width", "what", "program", "version", "min_s", "median_s", "rounds",
	"ratio_to_torch", "ratio_low", "ratio_high", "commit",
}}

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

// fields are the line as it stands in the file.
func (l Line) fields() table.Line {
	return table.Line{
		"row": l.Row, "batch": strconv.Itoa(l.Batch), "width": strconv.Itoa(l.Width), "what": l.What, "program": l.Program,
		"version": l.Version, "min_s": fmt.Sprintf("%.5f", l.Min), "median_s": fmt.Sprintf("%.5f", l.Median),
		"rounds": strconv.Itoa(l.Rounds), "ratio_to_torch": ratio(l.Ratio.Median), "ratio_low": ratio(l.Ratio.Low),
		"ratio_high": ratio(l.Ratio.High), "commit": l.Commit,
	}
}

// ratio prints a ratio, and nothing for one that was not measured.
func ratio(value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", value)
}

// Update writes lines to a file in place of those that it has for the same rows and sizes; others stay as they are.
func Update(file string, lines []Line) error {
	var measured []table.Line
	for _, line := range lines {
		measured = append(measured, line.fields())
	}
	return steps.Update(file, measured)
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
