package report_test

import (
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
)

// addAt records a made run at a profile, on the JPEG copy of CIFAR-10.
func addAt(t *testing.T, results, profile, experiment string, seed int, changes ...change) {
	r := recordtest.New(t, suite, experiment, profile, seed, experiments.Overrides{})
	images("cifar10-jpeg")(&r)
	for _, change := range changes {
		change(&r)
	}
	_, err := r.Write(results + "/" + profile + "/" + record.Folder)
	require.NoError(t, err)
}

// addRuns records runs at a profile that err on so many of 1,000 test images, one a seed.
func addRuns(t *testing.T, results, profile, experiment string, errors ...int) {
	for i, count := range errors {
		addAt(t, results, profile, experiment, i+1, wrong(count))
	}
}

// trained sets the error on the training images.
func trained(err float64) change { return func(r *record.Record) { r.TrainErr = err } }

// claimAt measures a claim at a profile.
func claimAt(t *testing.T, results, profile, claim string) report.ClaimRow {
	return claimOf(t, results, profile, claim, suite)
}

func claimOf(t *testing.T, results, profile, claim string, suite experiments.Suite) report.ClaimRow {
	p, err := report.Write(t.Context(), results, profile, suite)
	require.NoError(t, err)
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

// expectations is the number of comparisons that the suite declares.
var expectations = func() (count int) {
	for _, study := range suite {
		for _, claim := range study.Claims {
			count += len(claim.Expect)
		}
	}
	return count
}()

// The claim that CReLU is better by more than a point, over three seeds. p values are those of SciPy 1.17.1:
//
//	stats.ttest_ind(np.array(crelu) + 1, relu, equal_var=False).pvalue
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		crelu   []int // of 1,000; ReLU errs on 300, 301 and 299
		verdict string
		p       float64
	}{
		{[]int{270, 271, 269}, report.Agrees, 1.648308898718218e-05},
		{[]int{281, 289, 282}, report.Open, 0.13369211138458117},
		{[]int{300, 301, 299}, report.Disagrees, 0.000255216749441941},
	} {
		results := t.TempDir()
		addRuns(t, results, "overnight", "relu-lc7", 300, 301, 299)
		addRuns(t, results, "overnight", "crelu-lc7", c.crelu...)
		row := claimAt(t, results, "overnight", "crelu")
		f := row.Findings[0]
		require.Equal(t, []any{c.verdict, c.verdict, report.MethodWelchSeeds, 3}, []any{f.Verdict, row.Verdict, f.Measured.Method, f.Measured.Count}, "%+v", f)
		require.InEpsilon(t, c.p, f.P, 1e-4)
		require.InEpsilon(t, min(1, float64(expectations)*f.P), f.Holm, 1e-12, "of all that is declared it is the only one judged")
		require.InDelta(t, -1.23, f.Paper, 1e-9)
	}
}

// In the paper's regime, at its width and with training errors of its order, the words say so; so does the score.
func TestRegime(t *testing.T) {
	results := t.TempDir()
	for _, c := range []struct {
		profile string
		worst   float64
		verdict string
		score   string
	}{
		{"overnight", 1, report.Agrees, "Of 14 claims of the paper, 1 agrees, 0 disagree and 13 are open at this scale (13 of these not measured), none of them in the paper's regime (its width, 3 seeds, training errors like its own)."},
		{"paper", experiments.CIFARRegime + 0.1, report.Agrees, "Of 14 claims of the paper, 1 agrees, 0 disagree and 13 are open at this scale (13 of these not measured), none of them in the paper's regime (its width, 3 seeds, training errors like its own)."},
		{"paper", experiments.CIFARRegime, report.Reproduced, "Of 14 claims of the paper, 1 agrees, 0 disagree and 13 are open at this scale (13 of these not measured); claim 1 was measured in the paper's regime."},
	} {
		for seed, errors := range []int{110, 111, 109} {
			addAt(t, results, c.profile, "relu-lc7", seed+1, wrong(errors+30), trained(c.worst))
			addAt(t, results, c.profile, "crelu-lc7", seed+1, wrong(errors), trained(1))
		}
		row := claimAt(t, results, c.profile, "crelu")
		require.Equal(t, []string{c.verdict, c.verdict}, []string{row.Verdict, row.Findings[0].Verdict})
		p, err := report.Load(results, c.profile, suite)
		require.NoError(t, err)
		all, err := p.Claims()
		require.NoError(t, err)
		require.Equal(t, c.score, report.Score(all))
	}
	for seed, errors := range []int{130, 131, 129} {
		addAt(t, results, "paper", "unroll-0", seed+1, wrong(errors), trained(0), images("mnist"))
		addAt(t, results, "paper", "unroll-1", seed+1, wrong(errors-50), trained(0), images("mnist"))
	}
	require.Equal(t, report.Agrees, claimAt(t, results, "paper", "sweep-once").Verdict, "the paper names no network, so there is no regime")
}

// Nothing is judged at smoke, on other images than the paper's, of networks that have not learned, and with fewer seeds than declared, or with
// one of which nothing tells the deviation. Nor does any of it count as measured in the paper's regime.
func TestUnjudged(t *testing.T) {
	for _, c := range []struct {
		profile, data, why, decide string
		errors                     []int
	}{
		{"smoke", "cifar10-jpeg", "profile smoke judges nothing", "another profile", []int{300, 304, 297}},
		{"quick", "mnist32", "measured on MNIST", "CIFAR-10", []int{300, 304, 297}},
		{"quick", "cifar10-unknown", "measured on", "CIFAR-10", []int{300, 304, 297}},
		{"quick", "cifar10-jpeg", "ReLU+LC₇ has not learned: test error 80.4 %", "longer training", []int{300, 804, 297}},
		{"quick", "cifar10-jpeg", "too few seeds: 1 of 5", "5 seeds: ebssc run table --profile quick --backend cpu --seeds 5", []int{300}},
		{"quick", "cifar10-jpeg", "too few seeds: 4 of 5", "5 seeds: ebssc run table --profile quick --backend cpu --seeds 5", []int{300, 304, 297, 301}},
		{"overnight", "cifar10-jpeg", "too few seeds: 1 of 3", "3 seeds: ebssc run table --profile overnight --backend cpu --seeds 3", []int{300}},
	} {
		results := t.TempDir()
		for i, errors := range c.errors {
			addAt(t, results, c.profile, "relu-lc7", i+1, wrong(errors), images(c.data), trained(1))
			addAt(t, results, c.profile, "crelu-lc7", i+1, wrong(100+i), images(c.data), trained(1))
		}
		row := claimAt(t, results, c.profile, "crelu")
		f := row.Findings[0]
		require.Equal(t, []string{report.Open, report.Open, c.decide}, []string{row.Verdict, f.Verdict, f.ToDecide}, "%+v", f)
		require.Contains(t, f.Why, c.why)
		require.True(t, math.IsNaN(f.P))
		require.Less(t, f.Measured.Value, -10.0)
		require.Contains(t, report.Score([]report.ClaimRow{row}), "none of them in the paper's regime")
	}
}

// With one seed the deviation between seeds is that of the next smaller scale that has several, pooled over its rows. SciPy 1.17.1:
//
//	rows = [[30.0, 30.4, 29.7], [28.1, 28.9, 28.2], [27.0, 27.9]]
//	df = 5; s2 = sum(np.var(x, ddof=1) * (len(x) - 1) for x in rows) / df; se = np.sqrt(2 * s2)
//	stats.t.interval(.95, df, loc=-1.5, scale=se); 2 * stats.t.sf(.5 / se, df)
func TestPooledDeviation(t *testing.T) {
	results := t.TempDir()
	addRuns(t, results, "overnight", "relu-lc7", 134)
	addRuns(t, results, "overnight", "crelu-lc7", 119)
	for seed, errors := range []int{10, 12, 11} { // digits in the place of CIFAR-10 say nothing of it
		addAt(t, results, "quick", "relu-lc7", seed+1, wrong(errors), images("mnist32"))
	}
	require.Equal(t, "too few seeds: 1 of 3", claimAt(t, results, "overnight", "crelu").Findings[0].Why)
	addRuns(t, results, "quick", "relu-lc7", 300, 304, 297)
	addRuns(t, results, "quick", "crelu-lc7", 281, 289, 282)
	addRuns(t, results, "quick", "ssc-lc7", 270, 279)
	f := claimAt(t, results, "overnight", "crelu").Findings[0]
	require.Equal(t, []any{report.Method{Test: "Student", Over: "seeds", Pooled: "quick"}, 1, 5.0}, []any{f.Measured.Method, f.Measured.Count, f.Measured.Degrees})
	require.InDelta(t, -3.1513195759, f.Measured.Interval.Low, 1e-6)
	require.InDelta(t, 0.1513195759, f.Measured.Interval.High, 1e-6)
	require.InEpsilon(t, 0.4715, f.P, 1e-3)
	require.Equal(t, "yes", f.PaperWithin())
	addRuns(t, results, "quick", "ssc-ebc67", 900, 900, 900)
	require.Equal(t, 5.0, claimAt(t, results, "overnight", "crelu").Findings[0].Measured.Degrees, "networks that have not learned do not count")
	addRuns(t, results, "overnight", "ssc-lc7", 110, 111)
	require.Equal(t, "quick", claimAt(t, results, "overnight", "crelu").Findings[0].Measured.Method.Pooled, "two seeds are one difference")
	addRuns(t, results, "overnight", "crelu-sn-lc7", 115, 117, 112, 118)
	require.Equal(t, report.Method{Test: "Student", Over: "seeds", Pooled: "overnight"}, claimAt(t, results, "overnight", "crelu").Findings[0].Measured.Method, "its own seeds come first, if they are several")
}

// Rows that are the same runs under two names count once. Here both train without dropout.
func TestPooledDeviationOfTwins(t *testing.T) {
	results := t.TempDir()
	addRuns(t, results, "quick", "crelu-lc7-base", 300)
	addRuns(t, results, "quick", "crelu-avg-lc7", 310)
	for _, name := range []string{"ssc-lc7-base", "ssc-lc7-no-dropout"} {
		addRuns(t, results, "quick", name, 270, 279, 281)
	}
	f := claimAt(t, results, "quick", "average-pool").Findings[0]
	require.Equal(t, []any{report.Method{Test: "Student", Over: "seeds", Pooled: "quick"}, 2.0}, []any{f.Measured.Method, f.Measured.Degrees})
}

// Seeds that do not vary say nothing of others, however many there are.
func TestSeedsThatDoNotVary(t *testing.T) {
	results := t.TempDir()
	for _, name := range []string{"relu-lc7", "crelu-lc7"} {
		addRuns(t, results, "overnight", name, 100, 100, 100)
	}
	require.Equal(t, "the 3 seeds do not vary", claimAt(t, results, "overnight", "crelu").Findings[0].Why)
}

// A comparison that agrees where it is the only one declared is open among many. Measuring the others never weakens it.
func TestManyComparisons(t *testing.T) {
	results := t.TempDir()
	addRuns(t, results, "overnight", "relu-lc7", 300, 304, 297)
	addRuns(t, results, "overnight", "crelu-lc7", 271, 279, 272) // p 0.008 of a point more
	only := suite[0]
	only.Claims = only.Claims[:1]
	alone := claimOf(t, results, "overnight", "crelu", experiments.Suite{only})
	require.Equal(t, []any{report.Agrees, alone.Findings[0].P}, []any{alone.Verdict, alone.Findings[0].Holm})
	among := claimAt(t, results, "overnight", "crelu")
	require.Equal(t, []any{report.Open, alone.Findings[0].P}, []any{among.Verdict, among.Findings[0].P})
	require.Greater(t, among.Findings[0].Holm, 5*alone.Findings[0].P)
	require.Regexp(t, `^about \d+ seeds$`, among.Findings[0].ToDecide)
	for _, name := range []string{"crelu-sn-lc7", "ssc-lc7", "ssc-ebc67"} {
		addRuns(t, results, "overnight", name, 271, 279, 273)
	}
	require.LessOrEqual(t, claimAt(t, results, "overnight", "crelu").Findings[0].Holm, among.Findings[0].Holm)
}

// All that a claim predicts must hold: one comparison that fails decides it, one that is open leaves it open.
func TestConjunction(t *testing.T) {
	for _, c := range []struct {
		ssc     int
		verdict string
		text    string
	}{{300, report.Agrees, "| all 4 hold; "}, {151, report.Open, "3 of 4 are settled; "}, {50, report.Disagrees, "of 4, 1 fails, 3 hold; "}} {
		results := t.TempDir()
		for name, count := range map[string]int{"relu-lc7": 400, "crelu-lc7": 350, "crelu-sn-lc7": 340, "ssc-lc7": c.ssc, "ssc-ebc67": 150} {
			addRuns(t, results, "overnight", name, count, count+2, count-1)
		}
		row := claimAt(t, results, "overnight", "ebc-train")
		require.Equal(t, []string{report.Agrees, c.verdict, c.verdict}, []string{row.Findings[0].Verdict, row.Findings[3].Verdict, row.Verdict})
		text, err := report.Write(t.Context(), results, "overnight", suite)
		require.NoError(t, err)
		require.NotNil(t, text)
		require.Contains(t, readAt(t, results, "overnight", report.ClaimsFile), c.text)
	}
}

// What would decide an open claim is the prediction whose opposite takes the fewest seeds, or, where none points the other way, the one that
// takes most.
func TestWhatDecides(t *testing.T) {
	for _, c := range []struct {
		ssc, sn int // errors of 1,000 beside 150 ± 15 of SSC+EBC₆₋₇
		text    string
	}{
		{140, 145, "SSC+EBC₆₋₇ minus SSC+LC₇: 1.00 points"},
		{145, 140, "SSC+EBC₆₋₇ minus CReLU(SN)+LC₇: 1.00 points"},
		{160, 155, "SSC+EBC₆₋₇ minus CReLU(SN)+LC₇: −0.50 points"},
		{155, 160, "SSC+EBC₆₋₇ minus SSC+LC₇: −0.50 points"},
		{140, 200, "SSC+EBC₆₋₇ minus SSC+LC₇: 1.00 points"},
	} {
		results := t.TempDir()
		for name, count := range map[string]int{"relu-lc7": 400, "crelu-lc7": 350, "crelu-sn-lc7": c.sn, "ssc-lc7": c.ssc, "ssc-ebc67": 150} {
			addRuns(t, results, "overnight", name, count-15, count, count+15)
		}
		require.Equal(t, report.Open, claimAt(t, results, "overnight", "ebc-train").Verdict)
		require.Regexp(t, regexp.QuoteMeta("train error of "+c.text)+` \(.*\), in the paper −0.78; about \d+ seeds would decide it`+
			map[bool]string{true: ", against the claim", false: ""}[c.ssc < 150 || c.sn < 150]+` \|`, readAt(t, results, "overnight", report.ClaimsFile))
	}
}

// A claim's bound decides its verdict.
func TestBoundDecides(t *testing.T) {
	results := t.TempDir()
	addRuns(t, results, "overnight", "relu-lc7", 300, 304, 297)
	addRuns(t, results, "overnight", "crelu-lc7", 270, 274, 267)
	for bound, verdict := range map[float64]string{-1: report.Agrees, -3: report.Open, -5: report.Disagrees} {
		study := suite[0]
		study.Claims = []experiments.Claim{{Name: "mine", Where: "here",
			Expect: []experiments.Expectation{experiments.Between(experiments.TestErr, "crelu-lc7", "relu-lc7", math.Inf(-1), bound)}}}
		require.Equal(t, verdict, claimOf(t, results, "overnight", "mine", experiments.Suite{study}).Verdict, "%v", bound)
	}
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
		f := claimAt(t, results, "smoke", "crelu").Findings[0]
		require.Equal(t, name == "nothing", (f.Measured.Method != report.Method{}), name)
		require.Equal(t, name == "nothing", f.Measured.Value != 0, name)
		if name != "nothing" {
			require.Equal(t, []string{report.Open, "ebssc run table --profile smoke --backend cpu"}, []string{f.Verdict, f.ToDecide}, name)
			require.Contains(t, read(t, results, report.ClaimsFile), "not measured: `ebssc run table --profile smoke --backend cpu`")
			require.NotContains(t, read(t, results, "table.md"), "| ReLU+LC₇ | −", name)
		}
	}
}

// Claims on decodings are shown over images, and judged over seeds of the network: differences between blocks of one network are paired.
func TestClaimsOnDecodings(t *testing.T) {
	results := t.TempDir()
	record := func(seed int) {
		addAt(t, results, "quick", "ssc-ebc17-mnist", seed, images("mnist"), decodings(0), wrong(20), func(r *record.Record) {
			for i := range r.Decodings.Trained {
				r.Decodings.Trained[i].Difference = new([]float64{0.001 * float64(seed), 0.02 + 0.0011*float64(seed)}[min(i, 1)])
			}
		})
	}
	record(1)
	f := claimAt(t, results, "quick", "class-differences").Findings[0]
	require.Equal(t, []any{report.Open, report.MethodWelch, 1000, 1000, "too few seeds: 1 of 3"}, []any{f.Verdict, f.Measured.Method, f.Measured.Count, f.Images, f.Why})
	require.InDelta(t, 0.0201, f.Measured.Value, 1e-9)
	require.InDelta(t, 0.0201-1.96*0.005*0.044721, f.Measured.Interval.Low, 1e-5)
	require.Contains(t, readAt(t, results, "quick", report.ClaimsFile), "none of 6 is settled; class difference of SSC+EBC₁₋₇, conv3 minus SSC+EBC₁₋₇, conv2: 0 (")
	record(2)
	f = claimAt(t, results, "quick", "class-differences").Findings[0]
	require.Equal(t, []any{2, "too few seeds: 2 of 3"}, []any{f.Seeds, f.Why})
	require.InDelta(t, 0.02015, f.Measured.Value, 1e-9, "the mean of both seeds")
	record(3)
	row := claimAt(t, results, "quick", "class-differences")
	f = row.Findings[0]
	require.Equal(t, []any{report.Agrees, report.MethodStudentSeeds, 3, 3}, []any{f.Verdict, f.Measured.Method, f.Measured.Count, f.Seeds})
	require.InDelta(t, 0.0001, f.Measured.Error*math.Sqrt(3), 1e-9)
	require.Equal(t, []string{report.Open, report.Open}, []string{row.Findings[1].Verdict, row.Verdict}, "equal differences decide nothing")
	require.Equal(t, "ebssc run decoding --profile quick", claimAt(t, results, "quick", "reconstructions").Findings[0].ToDecide)
}

// A comparison of two decoded networks is judged only if both have learned.
func TestClaimsOnDecodingsOfTwoNetworks(t *testing.T) {
	i := slices.IndexFunc(suite, func(s experiments.Study) bool { return s.Name == "decoding" })
	study := suite[i]
	other := study.Experiments[0]
	other.Name, other.Settings = "other", experiments.Settings{experiments.ParamCrop: 2}
	study.Experiments = append(slices.Clone(study.Experiments), other)
	study.Claims = []experiments.Claim{{Name: "mine", Where: "here", Expect: []experiments.Expectation{{Quantity: experiments.Cosine,
		Subject: experiments.Source{Experiment: "ssc-ebc17", Block: "conv1"}, Baseline: experiments.Source{Experiment: "other", Block: "conv1"}, Low: 0, High: 1}}}}
	both := experiments.Suite{study}
	results := t.TempDir()
	for seed := 1; seed <= 3; seed++ {
		for name, errors := range map[string]int{"ssc-ebc17": 200, "other": 900} {
			r := recordtest.New(t, both, name, "quick", seed, experiments.Overrides{})
			for _, change := range []change{images("cifar10-jpeg"), wrong(errors), decodings(0)} {
				change(&r)
			}
			if name == "other" {
				r.Decodings.Trained[0].Cosine = 0.1 * float64(seed)
			}
			_, err := r.Write(filepath.Join(results, "quick", record.Folder))
			require.NoError(t, err)
		}
	}
	f := claimOf(t, results, "quick", "mine", both).Findings[0]
	require.Equal(t, []any{report.Open, 3, 6}, []any{f.Verdict, f.Seeds, len(f.Group)})
	require.Contains(t, f.Why, "SSC+EBC₁₋₇ has not learned: test error 90.0 %")
}

// A claim about an experiment alone is judged over its seeds.
func TestClaimsWithoutBaseline(t *testing.T) {
	results, study := t.TempDir(), suite[0]
	study.Claims = []experiments.Claim{{Name: "mine", Where: "here", Expect: []experiments.Expectation{
		{Quantity: experiments.TestErr, Subject: experiments.Source{Experiment: "relu-lc7"}, Low: 0, High: 25},
	}}}
	measured := func() report.Finding {
		return claimOf(t, results, "overnight", "mine", experiments.Suite{study}).Findings[0]
	}
	addRuns(t, results, "overnight", "relu-lc7", 200)
	study.Claims[0].Expect[0].Quantity = experiments.Cosine
	p, err := report.Load(results, "overnight", experiments.Suite{study})
	require.NoError(t, err)
	_, err = p.Claims()
	require.ErrorContains(t, err, "claim mine: cosine is measured in a block")
	study.Claims[0].Expect[0].Quantity = experiments.TestErr
	require.Equal(t, []string{report.Open, "too few seeds: 1 of 3"}, []string{measured().Verdict, measured().Why})
	addRuns(t, results, "overnight", "relu-lc7", 200, 201)
	require.Equal(t, []string{report.Open, "too few seeds: 2 of 3"}, []string{measured().Verdict, measured().Why}, "the deviation of two is one difference")
	addRuns(t, results, "overnight", "relu-lc7", 200, 201, 202)
	require.Equal(t, []string{report.Agrees, report.MethodStudentSeeds.String()}, []string{measured().Verdict, measured().Measured.Method.String()})
}
