package report_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
)

// By hand: the sums of squares of the four steps are 2, 2, 0 and 2, so s² = 6/16; a difference over
// five seeds has the standard error √(s²/5), and Student's t at 16 degrees of freedom the quantile
// 2.119905.
func TestPairedDifference(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, sameImages, "table")
	p := load(t, results)
	for i, e := range verdict(t, p, "ebc-train").Estimates {
		require.InDelta(t, []float64{-4, -2, -2, -3}[i], e.Value, 1e-9)
		require.InDelta(t, math.Sqrt(6.0/16/5), e.Error, 1e-9)
		require.Equal(t, 16.0, e.Degrees)
		low, _ := e.Interval()
		require.InDelta(t, e.Value-2.119905*math.Sqrt(6.0/16/5), low, 1e-6)
	}
	// Test errors have the same differences. Their 200 images say less of them than these seeds do.
	crelu, both := p.Difference("crelu-lc7", "relu-lc7")
	require.InDelta(t, -2, crelu.Value, 1e-9)
	require.Greater(t, crelu.Error, math.Sqrt(6.0/16/5))
	require.Equal(t, crelu.Value, both.Value)
	require.Greater(t, both.Error, crelu.Error, "other images are less certain than these")
	// Of the profile's 19 claims five have a smaller p; those of studies without records count as 1.
	require.InDelta(t, 14*2*distuv.StudentsT{Sigma: 1, Nu: 16}.CDF(-1/crelu.Error),
		verdict(t, p, "crelu").P, 1e-9)
}

// sameImages makes the images that a record of the table has wrong the first ones, whatever its
// seed.
func sameImages(r *record.Record) bool {
	wrong := int(math.Round(r.TestErr / 100 * float64(len(r.Labels))))
	predictions := []byte(r.Labels)
	for i := range wrong {
		predictions[i] = '0' + (predictions[i]-'0'+1)%10
	}
	r.Predictions = string(predictions)
	return true
}

// verdict is that on the claim of a name.
func verdict(t testing.TB, p *report.Results, name string) report.Verdict {
	all := p.Claims(false)
	at := slices.IndexFunc(all, func(v report.Verdict) bool { return v.Name == name })
	require.GreaterOrEqual(t, at, 0)
	return all[at]
}

// A contrast of several terms has the weights' sum of squares; a row that stands twice counts with
// the sum of its weights.
func TestContrast(t *testing.T) {
	results := t.TempDir()
	fill(t, results, func(run experiments.Run) (train, test float64) {
		return 20, 20 + []float64{0.5, 1, 3}[run.Seed-1]*float64(1+run.Network.Sweeps*run.Network.Sweeps)
	}, sameImages, "unroll")
	p := load(t, results)
	difference, _ := p.Difference("unroll-1", "unroll-0")
	step := difference.Error // √(s²/n)
	biggest := verdict(t, p, "sweep-biggest")
	// (1 − 0) + (2 − 1) = 2 − 0, and (1 − 0) − (2 − 1) = 2 × 1 − 0 − 2
	for i, squares := range []float64{2, 6, 4, 4, 4, 4} {
		require.Equal(t, experiments.TestErr, biggest.Expect[6+i].Quantity)
		require.InDelta(t, step*math.Sqrt(squares/2), biggest.Estimates[6+i].Error, 1e-9, i)
	}
}

// Decodings are means over seeds, and empty where nothing was measured. Quantities of blocks are
// pooled over a claim's expectations: by hand, seven blocks, of which one has the sum of squares
// 0.005 and the others 0.
func TestBlocksArePooled(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, func(r *record.Record) bool {
		// as is the fidelity
		cosine := []float64{0.65, 0.7, 0.75}[r.Run.Seed-1]
		r.Decodings.Trained[2].Linear = record.Similarity{Cosine: cosine}
		r.Decodings.Trained[0].Difference = nil
		return true
	}, "decoding")
	linear := verdict(t, load(t, results), "reconstructions-linear")
	require.InDelta(t, 0.7, linear.Estimates[2].Value, 1e-9)
	for _, e := range linear.Estimates {
		require.InDelta(t, math.Sqrt(0.005/14/3), e.Error, 1e-9)
		require.Equal(t, 14.0, e.Degrees)
	}
	require.Equal(t, report.Agrees, linear.Word)
	blocks := cells(t, write(t, results)["decodings.csv"])
	require.Len(t, blocks, 14)
	third := blocks[2]
	require.Equal(t, []string{"conv3", "true", "3", ""},
		[]string{third["block"], third["trained"], third["linear_cosine_n"],
			third["linear_image_cosine"]})
	require.InDelta(t, 0.7, parsed(t, third["linear_cosine"]), 1e-9)
	require.Equal(t, []string{"", "0.02"}, []string{blocks[0]["difference"], blocks[1]["difference"]})
}

// Verdicts and p values are those of an independent calculation: two one-sided tests, the largest
// over the expectations for agreement, the smallest times their number for disagreement, twice the
// smaller one, and Holm over all claims of the profile: those without a verdict count as 1.
func TestVerdicts(t *testing.T) {
	results := t.TempDir()
	fill(t, results, func(run experiments.Run) (train, test float64) {
		train, test = stepped(run)
		if strings.Contains(run.Experiment, "avg") { // better than the paper says
			test -= 15
		}
		noise := 0.5 * float64((7*len(run.Experiment)+3*run.Network.Sweeps+run.Seed*run.Seed)%5)
		return train + noise/10, test + noise
	}, nil, all...)
	verdicts := load(t, results).Claims(false)
	// that the true value is below the bound, where it is not
	tail := func(value, bound, error, degrees float64) float64 {
		return distuv.StudentsT{Sigma: 1, Nu: degrees}.Survival((bound - value) / error)
	}
	raw := map[string]float64{}
	agrees := map[string]bool{}
	for _, v := range verdicts {
		if v.Reason != "" {
			require.Equal(t, "no interval", v.Reason)
			raw[v.Name] = 1
			continue
		}
		agree, disagree := 0.0, 1.0
		for i, e := range v.Expect {
			m := v.Estimates[i]
			var holds, reversed []float64
			if !math.IsInf(e.Low, 0) {
				holds = append(holds, tail(-m.Value, -e.Low, m.Error, m.Degrees))
				reversed = append(reversed, tail(m.Value, e.Low, m.Error, m.Degrees))
			}
			if !math.IsInf(e.High, 0) {
				holds = append(holds, tail(m.Value, e.High, m.Error, m.Degrees))
				reversed = append(reversed, tail(-m.Value, -e.High, m.Error, m.Degrees))
			}
			agree = max(agree, slices.Max(holds))
			disagree = min(disagree, slices.Min(reversed)*float64(len(reversed)*len(v.Expect)))
		}
		raw[v.Name], agrees[v.Name] = min(1, 2*min(agree, disagree)), agree < disagree
	}
	require.Greater(t, len(raw), 10)
	words := map[string]int{}
	for _, v := range verdicts {
		if v.Reason != "" {
			continue
		}
		// the largest of the smaller ones, each times the number of those that are not smaller
		corrected := 0.0
		for _, p := range raw {
			if p <= raw[v.Name] {
				larger := 0
				for _, other := range raw {
					if other >= p {
						larger++
					}
				}
				corrected = max(corrected, min(1, p*float64(larger)))
			}
		}
		require.InDelta(t, corrected, v.P, 1e-9, v.Name)
		word := report.Open
		if corrected < 0.05 {
			word = map[bool]string{true: report.Agrees, false: report.Disagrees}[agrees[v.Name]]
		}
		require.Equal(t, word, v.Word, v.Name)
		words[v.Word]++
	}
	require.Len(t, words, 3, fmt.Sprint(words))
}

// A claim has no verdict at a demo profile, where seeds or measurements are missing, and where a
// network did not learn.
func TestNoVerdict(t *testing.T) {
	reason := func(claim string, change func(*record.Record) bool,
		errors func(experiments.Run) (float64, float64), studies ...string) string {
		results := t.TempDir()
		fill(t, results, errors, change, studies...)
		p := load(t, results)
		for _, v := range slices.Concat(p.Claims(false), p.Claims(true)) {
			if v.Name == claim {
				require.Equal(t, v.Reason == "", v.Word != "")
				require.Equal(t, v.Word == "", math.IsNaN(v.P))
				return v.Reason
			}
		}
		return "no such claim"
	}
	require.Empty(t, reason("crelu", nil, stepped, "table"))
	oneLess := func(r *record.Record) bool { return r.Run.Experiment != "relu-lc7" || r.Run.Seed != 3 }
	require.Equal(t, "4 of 5 seeds", reason("crelu", oneLess, stepped, "table"))
	unequal := func(r *record.Record) bool {
		return oneLess(r) && (r.Run.Experiment != "crelu-lc7" || r.Run.Seed > 2)
	}
	require.Equal(t, "3 to 4 of 5 seeds", reason("crelu", unequal, stepped, "table"))
	require.Equal(t, "4 of 5 seeds", reason("ebc", oneLess, stepped, "table"),
		"a row of the pool lacks one")
	wide := func(r *record.Record) bool { return strings.HasSuffix(r.Run.Experiment, "-wide") }
	varied := func(run experiments.Run) (float64, float64) {
		return 20, float64(20 + len(run.Experiment)*run.Seed)
	}
	require.Empty(t, reason("fit-wide", wide, varied, "fit"),
		"rows of another scale are not of the pool")
	require.Equal(t, "not measured", reason("crelu",
		func(r *record.Record) bool { return r.Run.Experiment != "relu-lc7" }, stepped, "table"))
	failed := func(run experiments.Run) (float64, float64) {
		if _, test := stepped(run); run.Experiment == "ssc-ebc67" && run.Seed == 2 {
			return 85.5, test
		}
		return stepped(run)
	}
	require.Equal(t, "a run did not learn", reason("ebc", nil, failed, "table"))
	require.Empty(t, reason("crelu", nil, failed, "table"), "of other rows")
	spread := func(r *record.Record) bool {
		*r.Decodings.Trained[6].BiasSpread += 0.01 * float64(r.Run.Seed)
		return true
	}
	require.Empty(t, reason("biases-localised", spread, stepped, "decoding"))
	require.Equal(t, "not measured", reason("biases-localised", func(r *record.Record) bool {
		r.Decodings.Untrained[6].BiasSpread = nil
		return spread(r)
	}, stepped, "decoding"))
	demo, results := profile(t, "quick"), t.TempDir()
	demo.Demo = true
	fill(t, results, stepped, nil, "table")
	p, err := report.Load(results, "quick", demo)
	require.NoError(t, err)
	for _, v := range p.Claims(false) {
		require.Equal(t, "demo profile", v.Reason)
	}
}

// Rows that got worse are named if Welch's interval says so. Rows that one side lacks are left out.
func TestCompare(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	fill(t, a, stepped, nil, "table", "unroll")
	fill(t, b, func(run experiments.Run) (train, test float64) {
		train, test = stepped(run)
		if run.Experiment == "ssc-lc7" {
			test += 10
		}
		return train, test
	}, nil, "table", "residuals")
	table, worse, err := report.Compare(load(t, a), load(t, b))
	require.NoError(t, err)
	require.Equal(t, []string{"ssc-lc7"}, worse)
	require.Len(t, table.Rows, 5)
	row := cells(t, string(table.CSV()))[3]
	require.Equal(t, []string{"29", "39", "10", "worse"},
		[]string{row["test_err_a"], row["test_err_b"], row["difference"], row["verdict"]})
	copied := t.TempDir()
	fill(t, copied, stepped, func(r *record.Record) bool {
		r.Run.Dataset.SHA256 = strings.Repeat("0", 64)
		return true
	}, "table")
	_, _, err = report.Compare(load(t, a), load(t, copied))
	require.ErrorContains(t, err, "only rows of the same data set")
	_, _, err = report.Compare(load(t, a), load(t, t.TempDir()))
	require.ErrorContains(t, err, "no row in common")
	smoke, err := report.Load(t.TempDir(), "smoke", profile(t, "smoke"))
	require.NoError(t, err)
	_, _, err = report.Compare(load(t, a), smoke)
	require.ErrorContains(t, err, "profile")
}
