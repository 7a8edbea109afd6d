package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
)

// claimed measures a claim.
func claimed(t *testing.T, results, claim string) report.ClaimRow {
	p := write(t, results)
	all, err := p.Claims()
	require.NoError(t, err)
	for i, row := range all {
		require.Equal(t, i+1, row.Number)
		if row.Name == claim {
			return row
		}
	}
	t.Fatalf("no claim %s", claim)
	return report.ClaimRow{}
}

// The claim that CReLU is better by more than a point: reproduced where the whole interval is, contradicted where none of it is, else
// undecided.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		wrong           int // of 1,000; ReLU errs on 300
		verdict, decide string
	}{
		{250, report.Reproduced, ""},
		// 20 images fixed, 1.09 to 2.91 points in favour: computed by hand.
		{280, report.Reproduced, ""},
		// 15 fixed: 0.8012 points to either side, and the claim half a point away: 1000 · (0.8012 / 0.5)².
		{285, report.Undecided, "about 2568 images"},
		{290, report.Undecided, "no number of images"},
		{300, report.Contradicted, ""},
		{330, report.Contradicted, ""},
	} {
		results := t.TempDir()
		add(t, results, "relu-lc7", 1, wrong(300))
		add(t, results, "crelu-lc7", 1, wrong(c.wrong))
		row := claimed(t, results, "crelu")
		require.Len(t, row.Findings, 1)
		f := row.Findings[0]
		require.Equal(t, []string{c.verdict, c.verdict, c.decide}, []string{f.Verdict, row.Verdict, f.ToDecide}, "%+v", f)
		require.InDelta(t, float64(c.wrong-300)/10, f.Measured.Value, 1e-9)
		require.Equal(t, []any{report.MethodPaired, 1000, -1.0, 1}, []any{f.Measured.Method, f.Measured.Count, f.High, f.Seeds})
		require.InDelta(t, -1.23, f.Paper, 1e-9)
		require.Contains(t, read(t, results, report.ClaimsFile), "| "+c.verdict+" |")
	}
}

// All that a claim predicts must hold: one comparison that fails contradicts it, one that is undecided leaves it undecided.
func TestConjunction(t *testing.T) {
	results := t.TempDir()
	for name, count := range map[string]int{"relu-lc7": 400, "crelu-lc7": 350, "crelu-sn-lc7": 350, "ssc-lc7": 300, "ssc-ebc67": 150} {
		add(t, results, name, 1, wrong(count))
	}
	row := claimed(t, results, "ebc-train")
	require.Len(t, row.Findings, 4)
	require.Equal(t, report.Reproduced, row.Verdict)
	for _, f := range row.Findings {
		require.Equal(t, []string{report.Reproduced, string(report.MethodBinomial)}, []string{f.Verdict, string(f.Measured.Method)})
	}
	require.Contains(t, read(t, results, report.ClaimsFile), "| all 4 hold; train error of SSC+EBC₆₋₇ minus ReLU+LC₇: −25.00 points (")

	for verdict, c := range map[string]struct {
		trainErr float64
		text     string
	}{report.Undecided: {15.5, "3 of 4 are settled; "}, report.Contradicted: {5, "3 of 4 hold; "}} {
		add(t, results, "ssc-lc7", 1, wrong(300), func(r *record.Record) { r.TrainErr = c.trainErr })
		row = claimed(t, results, "ebc-train")
		require.Equal(t, []string{report.Reproduced, verdict, verdict}, []string{row.Findings[0].Verdict, row.Findings[3].Verdict, row.Verdict})
		require.Contains(t, read(t, results, report.ClaimsFile), c.text)
	}
}

// Over seeds the interval is of seeds, and without them there is none of the objective; as many seeds as are said to decide do decide
// if they go on as before.
func TestVerdictsOverSeeds(t *testing.T) {
	results := t.TempDir()
	first := func(objectives ...float64) report.Finding {
		for i, objective := range objectives {
			add(t, results, "unroll-0", i+1, func(r *record.Record) { r.TrainObjective = objective })
			add(t, results, "unroll-1", i+1, func(r *record.Record) { r.TrainObjective = objective - 0.5 })
		}
		return claimed(t, results, "sweeps-objective").Findings[0]
	}
	f := first(1)
	require.Equal(t, []any{-0.5, report.Undecided, "at least 2 seeds", report.MethodNone}, []any{f.Measured.Value, f.Verdict, f.ToDecide, f.Measured.Method})
	require.Contains(t, read(t, results, report.ClaimsFile), "none of 4 is settled; training objective of T = 1 minus T = 0: −0.5000 nats; at least 2 seeds would decide it")
	f = first(1, 1.4)
	require.Equal(t, []any{report.MethodWelchSeeds, 2, report.Undecided, "about 4 seeds"}, []any{f.Measured.Method, f.Measured.Count, f.Verdict, f.ToDecide})
	require.Equal(t, report.Undecided, first(1, 1.4, 1).Verdict)
	require.Equal(t, report.Reproduced, first(1, 1.4, 1, 1.4).Verdict)
}

// What is not measured says which command measures it; runs of different settings are not compared, and trials not at all.
func TestClaimsCompareLikeWithLike(t *testing.T) {
	for name, change := range map[string]change{
		"nothing": func(*record.Record) {},
		"epochs":  epochs(t, 9),
		"images":  func(r *record.Record) { r.Run.TrainImages -= 31 },
		"data":    images("cifar10-made"),
		"machine": func(r *record.Record) { r.Run.Machine.Backend = "xla-other" },
		"settings": func(r *record.Record) {
			r.Run.Settings = r.Run.Settings.With(experiments.Settings{experiments.ParamLearningRate: 0.5})
		},
	} {
		results := t.TempDir()
		add(t, results, "relu-lc7", 1, wrong(300))
		add(t, results, "relu-lc7", 2, wrong(300)) // so that its setting comes first
		add(t, results, "crelu-lc7", 1, wrong(200), func(r *record.Record) {
			change(r)
			for i := range r.Curve {
				r.Curve[i].Step = (i + 1) * r.Run.StepsPerEpoch()
			}
		})
		add(t, results, "unroll-0", 1, images("mnist"))
		add(t, results, "unroll-1", 1, images("mnist")) // so that there is a ledger
		f := claimed(t, results, "crelu").Findings[0]
		require.Equal(t, name == "nothing", f.Measured.Method != "", name)
		require.Equal(t, name == "nothing", f.Measured.Value != 0, name)
		if name != "nothing" {
			require.Equal(t, []string{report.Undecided, "ebssc run table --profile smoke"}, []string{f.Verdict, f.ToDecide}, name)
			require.Contains(t, read(t, results, report.ClaimsFile), "not measured: `ebssc run table --profile smoke`")
			require.NotContains(t, read(t, results, "table.md"), "| ReLU+LC₇ | −", name)
		}
	}
}

// Claims on decodings are judged over images.
func TestClaimsOnDecodings(t *testing.T) {
	results := t.TempDir()
	add(t, results, "ssc-ebc17-mnist", 1, images("mnist"), decodings(0), func(r *record.Record) {
		for i := range r.Decodings.Trained {
			r.Decodings.Trained[i].Difference = new([]float64{0.001, 0.02}[min(i, 1)])
		}
	})
	row := claimed(t, results, "class-differences")
	require.Len(t, row.Findings, 6)
	first, second := row.Findings[0], row.Findings[1]
	require.Equal(t, []any{report.Reproduced, report.MethodWelch, 1000, 1000}, []any{first.Verdict, first.Measured.Method, first.Measured.Count, first.Images})
	require.InDelta(t, 0.019, first.Measured.Value, 1e-9)
	require.InDelta(t, 0.019-1.96*0.005*0.044721, first.Measured.Interval.Low, 1e-5)
	require.Equal(t, []string{report.Undecided, report.Undecided}, []string{second.Verdict, row.Verdict})
	require.Equal(t, "ebssc run decoding --profile smoke", claimed(t, results, "reconstructions").Findings[0].ToDecide)
	require.Contains(t, read(t, results, report.ClaimsFile), "1 of 6 is settled; class difference of SSC+EBC₁₋₇, conv3 minus SSC+EBC₁₋₇, conv2: 0 (")
}

// A claim about an experiment alone is judged over its seeds.
func TestClaimsWithoutBaseline(t *testing.T) {
	results, study := t.TempDir(), suite[0]
	study.Claims = []experiments.Claim{{Name: "mine", Where: "here", Expect: []experiments.Expectation{
		{Quantity: experiments.TestErr, Subject: experiments.Source{Experiment: "relu-lc7"}, Low: 0, High: 25},
	}}}
	measured := func() report.Finding {
		p, err := report.Load(results, "smoke", experiments.Suite{experiments.Declare(study)})
		require.NoError(t, err)
		all, err := p.Claims()
		require.NoError(t, err)
		return all[0].Findings[0]
	}
	add(t, results, "relu-lc7", 1, wrong(200))
	study.Claims[0].Expect[0].Quantity = experiments.Cosine
	p, err := report.Load(results, "smoke", experiments.Suite{study})
	require.NoError(t, err)
	_, err = p.Claims()
	require.ErrorContains(t, err, "claim mine: cosine is measured in a block")
	study.Claims[0].Expect[0].Quantity = experiments.TestErr
	require.Equal(t, []string{report.Undecided, "at least 2 seeds"}, []string{measured().Verdict, measured().ToDecide})
	add(t, results, "relu-lc7", 2, wrong(201))
	require.Equal(t, []string{report.Reproduced, string(report.MethodStudentSeeds)}, []string{measured().Verdict, string(measured().Measured.Method)})
}
