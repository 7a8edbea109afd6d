package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// decoded is what was measured on a network with two blocks.
func decoded(experiment string, differences ...float64) report.Decodings {
	d := report.Decodings{
		Result: train.Result{Run: experiments.Run{Experiment: experiment, Profile: "smoke", Dataset: "mnist", SHA256: "0123456789abcdef", Epochs: 2, Backend: "xla-cpu"}, Commit: "abc"},
		Images: 1000, Seconds: 3, Pictures: []report.Picture{{Title: "levels", File: "x_levels.png"}},
	}
	for i, difference := range differences {
		f := decode.Fidelity{Block: []string{"conv1", "conv2"}[i], Cosine: 0.9 - 0.1*float64(i), CosineStd: 0.05, Error: 0.4,
			Difference: &difference, DifferenceStd: new(0.001), InkShare: new(0.5), InkArea: new(0.2)}
		d.Trained = append(d.Trained, f)
		f.Cosine = 0.3
		d.Untrained = append(d.Untrained, f)
	}
	return d
}

// Both studies share one CSV file, and each replaces its own lines alone; what the paper claims is judged by the numbers.
func TestWriteDecodings(t *testing.T) {
	results := t.TempDir()
	of, err := experiments.FindStudy("decoding")
	require.NoError(t, err)
	digits, err := experiments.FindStudy("residuals")
	require.NoError(t, err)
	colour := decoded("ssc-ebc17", 0.01, 0.005)
	for _, measured := range [][]decode.Fidelity{colour.Trained, colour.Untrained} {
		for i := range measured {
			measured[i].InkShare, measured[i].InkArea = nil, nil
		}
	}
	require.NoError(t, report.WriteDecodings(results, of, []report.Decodings{colour}))
	require.NoError(t, report.WriteDecodings(results, digits, []report.Decodings{decoded("ssc-ebc17-mnist", 0.001, 0.02)}))
	require.NoError(t, report.WriteDecodings(results, digits, []report.Decodings{decoded("ssc-ebc17-mnist", 0.002, 0.03)}))

	lines := strings.Split(strings.TrimSpace(read(t, results, "smoke", "decoding.csv")), "\n")
	require.Len(t, lines, 1+2*2*2)
	require.Equal(t, "experiment,trained,block,dataset,dataset_sha256,profile,backend,seeds,epochs,images,cosine,cosine_std,error,difference,difference_std,ink_share,ink_area,seconds,commit", lines[0])
	require.Equal(t, "ssc-ebc17,true,conv1,mnist,0123456789abcdef,smoke,xla-cpu,1,2,1000,0.9000,0.0500,0.4000,0.010000,0.001000,,,3,abc", lines[1])
	require.Contains(t, lines[6], "ssc-ebc17-mnist,true,conv2,")
	require.Contains(t, lines[6], ",0.030000,0.001000,0.5000,0.2000,")
	require.Contains(t, lines[7], "ssc-ebc17-mnist,false,conv1,")

	text := read(t, results, "smoke", "decoding.md")
	require.Contains(t, text, "## SSC+EBC₁₋₇\n")
	require.Contains(t, text, "![levels](figures/x_levels.png)")
	require.Contains(t, text, "falls to 0.800, at conv2; from the lowest block it is 0.900")
	require.Contains(t, text, "rise in 0 of 1 steps")
	require.Contains(t, read(t, results, "smoke", "residuals.md"), "rise in 1 of 1 steps")
}
