package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"ebsscgo/internal/table"
)

// steps is steps.csv. Seconds are those of one step; ratio_to_torch is that of the medians, ratio_low and ratio_high
// are the smallest and the largest of the rounds' ratios. They are empty where PyTorch was not measured. first_s, of training,
// is the first step, with all that is built and compiled for it; peak_mib is the process's peak resident memory in steps after
// that, with the program itself and its libraries. gflop_per_s, of training, is what the network's convolutions take as they
// are defined ([ebssc.Network.TrainingFLOP]) over median_s, however a program computes them, and peak_share is that over the
// device's [Peak]; both are empty where the operations are not known, or were not yet counted when the line was measured.
var steps = table.Layout{Keys: 3, Columns: []string{
	"row", "batch", "width", "what", "program", "version", "min_s", "median_s", "rounds",
	"ratio_to_torch", "ratio_low", "ratio_high", "first_s", "peak_mib", "commit",
	"gflop_per_s", "peak_share",
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
	// First is the seconds of the first training step, with compiling; 0 for inference.
	First float64
	// Peak resident memory of the program's process in MiB, in the rounds; 0 where the system does not tell.
	Peak float64
	// Speed of training in FLOP/s, by the definition of convolutions, and its share of the device's peak; 0 where unknown.
	Speed, Share float64
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
		"rounds": strconv.Itoa(l.Rounds), "ratio_to_torch": measured("%.3f", l.Ratio.Median), "ratio_low": measured("%.3f", l.Ratio.Low),
		"ratio_high": measured("%.3f", l.Ratio.High), "first_s": measured("%.2f", l.First), "peak_mib": measured("%.0f", l.Peak),
		"commit": l.Commit, "gflop_per_s": measured("%.1f", l.Speed/1e9), "peak_share": measured("%.3f", l.Share),
	}
}

// measured prints a value, and nothing for one that was not measured.
func measured(format string, value float64) string {
	if value == 0 {
		return ""
	}
	return fmt.Sprintf(format, value)
}

// Update writes lines to a file in place of those that it has for the same rows and sizes; others stay as they are.
func Update(file string, lines []Line) error {
	var measured []table.Line
	for _, line := range lines {
		measured = append(measured, line.fields())
	}
	return steps.Update(file, measured)
}

// Print writes lines as a table for people, and below it from which training step on the fast operations pay.
func Print(out io.Writer, lines []Line) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ROW\tBATCH\tWIDTH\tWHAT\tPROGRAM\tVERSION\tMIN ms\tMEDIAN ms\tIMAGES/s\tGFLOP/s\t× PEAK\tFIRST s\tMEMORY MiB\t× PYTORCH\tROUNDS")
	for _, l := range lines {
		spread := ""
		if l.Ratio.Median > 0 {
			spread = fmt.Sprintf("%.2f–%.2f", l.Ratio.Low, l.Ratio.High)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%.1f\t%.1f\t%.0f\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Row, l.Batch, l.Width, l.What, l.Program, l.Version,
			1e3*l.Min, 1e3*l.Median, float64(l.Batch)/l.Median, measured("%.0f", l.Speed/1e9), measured("%.2f", l.Share),
			measured("%.1f", l.First), measured("%.0f", l.Peak), measured("%.2f", l.Ratio.Median), spread)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, fast := range lines {
		plain := slices.IndexFunc(lines, func(l Line) bool {
			return l.Row == fast.Row && l.Size == fast.Size && l.What == training && l.Program == plainProgram
		})
		if fast.What != training || fast.Program != fastProgram || plain < 0 {
			continue
		}
		if _, err := fmt.Fprintf(out, "%s, batch %d, width %d: the fast operations pay %s\n",
			fast.Row, fast.Batch, fast.Width, paysFrom(fast, lines[plain])); err != nil {
			return err
		}
	}
	return nil
}

// paysFrom says in words from which training step on a process with fast operations is ahead of one with plain ones.
func paysFrom(fast, plain Line) string {
	lead, gain := plain.First-fast.First, plain.Median-fast.Median
	switch {
	case lead >= 0 && gain >= 0:
		return "from step 1"
	case lead <= 0 && gain <= 0:
		return "at no step"
	case gain < 0:
		return fmt.Sprintf("up to step %.0f", 1+math.Floor(lead/-gain))
	default:
		return fmt.Sprintf("from step %.0f", 1+math.Ceil(-lead/gain))
	}
}
