package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// Every claim has a name of its own and is about experiments that are declared, in blocks that their networks have, and that
// are of one scale.
func TestClaimsAreDeclared(t *testing.T) {
	names := map[string]bool{}
	for _, claim := range experiments.Claims {
		require.False(t, names[claim.Name], claim.Name)
		names[claim.Name] = true
		require.NotEmpty(t, claim.Where, claim.Name)
		require.NotEmpty(t, claim.Expect, claim.Name)
		for _, e := range claim.Expect {
			require.Less(t, e.Low, e.High, claim.Name)
			var studies []string
			for _, s := range []experiments.Subject{e.Of, e.Beside} {
				if s == (experiments.Subject{}) {
					continue
				}
				study, declared, ok := experiments.StudyOf(s.Experiment)
				require.True(t, ok, "%s: %s", claim.Name, s.Experiment)
				studies = append(studies, study.Name)
				ofThatName := func(l ebssc.Layer) bool { return l.Block != nil && l.Name == s.Block }
				require.Equal(t, s.Block != "", slices.ContainsFunc(declared.Network(4).Layers, ofThatName), "%s: %s", claim.Name, s)
			}
			require.Subset(t, studies[:1], studies, "%s is about runs of different scales", claim.Name)
		}
	}
}

// recordRow writes a finished run of a row of the table that errs on the last so many of 1,000 test images.
func recordRow(t *testing.T, results, name string, seed, wrong int, change func(*train.Result)) {
	row, err := experiments.Find(experiments.All(experiments.Studies), []string{name})
	require.NoError(t, err)
	record(t, results, row[0], seed, func(r *train.Result) {
		r.Run.TestImages, r.Labels = 1000, strings.Repeat("1", 1000)
		r.Predictions = strings.Repeat("1", 1000-wrong) + strings.Repeat("0", wrong)
		r.TestErr, r.TrainErr = float64(wrong)/10, float64(wrong)/10
		change(r)
	})
}

// ledger writes the reports and returns the ledger's lines of a claim.
func ledger(t *testing.T, results, claim string) (lines []report.Line) {
	require.NoError(t, report.Write(results, "smoke"))
	all, err := report.ReadClaims(results, "smoke")
	require.NoError(t, err)
	for _, l := range all {
		if l["claim"] == claim {
			lines = append(lines, l)
		}
	}
	require.NotEmpty(t, lines, claim)
	return lines
}

// The claim that CReLU is better by more than a point: reproduced where all of the interval is, contradicted where nothing of
// it is, else undecided.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		wrong           int // of 1,000; ReLU errs on 300
		verdict, decide string
	}{
		{250, report.Reproduced, ""},
		// 20 images fixed, 1.09 to 2.91 points in favour: computed by hand.
		{280, report.Reproduced, ""},
		// 15 fixed: 0.8012 points to either side, and the claim half a point away: 1000 · (0.8012 / 0.5)².
		{285, report.Open, "about 2568 images"},
		{290, report.Open, "no number, the difference being the bound"},
		{300, report.Contradicted, ""},
		{330, report.Contradicted, ""},
	} {
		results := t.TempDir()
		recordRow(t, results, "relu-lc7", 1, 300, unchanged)
		recordRow(t, results, "crelu-lc7", 1, c.wrong, unchanged)
		lines := ledger(t, results, "crelu")
		require.Len(t, lines, 1)
		l := lines[0]
		require.Equal(t, []string{c.verdict, c.verdict, c.decide}, []string{l["verdict"], l["claim_verdict"], l["to_decide"]}, "%+v", l)
		require.InDelta(t, float64(c.wrong-300)/10, l.Number("measured"), 1e-9)
		require.Equal(t, []string{"Bonett-Price, images", "1000", "-1.23", "", "-1"}, []string{l["method"], l["count"], l["paper"], l["low"], l["high"]})
		require.Equal(t, []string{"cifar10-jpeg", "smoke", "1", "3", "100", "1000", "abc"},
			[]string{l["dataset"], l["profile"], l["seeds"], l["epochs"], l["train_images"], l["test_images"], l["commit"]})
		require.Contains(t, read(t, results, "smoke", report.ClaimsFile), "| "+c.verdict+" |")
	}
}

// All that a claim predicts must hold: one comparison that fails contradicts it, one that is open leaves it open.
func TestConjunction(t *testing.T) {
	results := t.TempDir()
	for name, wrong := range map[string]int{"relu-lc7": 400, "crelu-lc7": 350, "crelu-sn-lc7": 350, "ssc-lc7": 300, "ssc-ebc67": 150} {
		recordRow(t, results, name, 1, wrong, func(r *train.Result) { r.Run.TrainImages = 1000 })
	}
	lines := ledger(t, results, "ebc-train")
	require.Len(t, lines, 4)
	for _, l := range lines {
		require.Equal(t, []string{report.Reproduced, report.Reproduced, "Newcombe, images"}, []string{l["verdict"], l["claim_verdict"], l["method"]})
	}
	require.Contains(t, read(t, results, "smoke", report.ClaimsFile), "| all 4 hold; train error of SSC+EBC₆₋₇ less that of ReLU+LC₇: −25.00 points (")

	for trainErr, verdict := range map[float64]string{15.5: report.Open, 5: report.Contradicted} {
		recordRow(t, results, "ssc-lc7", 1, 300, func(r *train.Result) { r.Run.TrainImages, r.TrainErr = 1000, trainErr })
		lines = ledger(t, results, "ebc-train")
		require.Equal(t, report.Reproduced, lines[0]["verdict"])
		require.Equal(t, verdict, lines[3]["verdict"])
		for _, l := range lines {
			require.Equal(t, verdict, l["claim_verdict"])
		}
	}
	require.Contains(t, read(t, results, "smoke", report.ClaimsFile), "3 of 4 ")
}

// Over seeds the interval is of seeds, and of the objective there is none without them; as many seeds as are said to decide
// do, if they go on as before.
func TestVerdictsOverSeeds(t *testing.T) {
	results := t.TempDir()
	seeds := func(name string, objectives ...float64) {
		for i, objective := range objectives {
			recordRow(t, results, name, i+1, 100, func(r *train.Result) { r.TrainObjective = objective })
		}
	}
	seeds("unroll-0", 1)
	seeds("unroll-1", 0.5)
	first := ledger(t, results, "sweeps-objective")[0]
	require.Equal(t, []string{"-0.500000", "", report.Open, "at least 2 seeds", "none"},
		[]string{first["measured"], first["interval_low"], first["verdict"], first["to_decide"], first["method"]})

	seeds("unroll-0", 1, 1.4)
	seeds("unroll-1", 0.5, 0.9)
	first = ledger(t, results, "sweeps-objective")[0]
	require.Equal(t, []string{"Welch, seeds", "2", report.Open, "about 4 seeds"}, []string{first["method"], first["count"], first["verdict"], first["to_decide"]})
	seeds("unroll-0", 1, 1.4, 1)
	seeds("unroll-1", 0.5, 0.9, 0.5)
	require.Equal(t, report.Open, ledger(t, results, "sweeps-objective")[0]["verdict"])
	seeds("unroll-0", 1, 1.4, 1, 1.4)
	seeds("unroll-1", 0.5, 0.9, 0.5, 0.9)
	require.Equal(t, report.Reproduced, ledger(t, results, "sweeps-objective")[0]["verdict"])
}

// What is not measured says which command measures it; runs that differ in more than what is claimed are not compared.
func TestClaimsCompareLikeWithLike(t *testing.T) {
	for name, change := range map[string]func(*train.Result){
		"nothing":  unchanged,
		"epochs":   func(r *train.Result) { r.Run.Epochs++ },
		"images":   func(r *train.Result) { r.Run.TrainImages++ },
		"data":     func(r *train.Result) { r.Run.SHA256 = "other" },
		"settings": func(r *train.Result) { r.Run.Settings = r.Run.Settings.With(experiments.Settings{"beta": 0.01}) },
		"labels":   func(r *train.Result) { r.Labels = strings.Repeat("2", 1000) },
	} {
		results := t.TempDir()
		recordRow(t, results, "relu-lc7", 1, 300, unchanged)
		recordRow(t, results, "crelu-lc7", 1, 200, change)
		recordRow(t, results, "unroll-0", 1, 300, unchanged)
		recordRow(t, results, "unroll-1", 1, 200, unchanged) // so that there is a ledger
		l := ledger(t, results, "crelu")[0]
		require.Equal(t, name == "nothing", l["measured"] != "", name)
		table, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
		require.NoError(t, err)
		require.Equal(t, name == "nothing", table["crelu-lc7"]["delta_base"] != "", name)
		if name == "nothing" {
			require.Equal(t, []string{"relu-lc7", "-10.00"}, []string{table["crelu-lc7"]["base"], table["crelu-lc7"]["delta_base"]})
			continue
		}
		require.Equal(t, []string{report.Open, "ebssc run table"}, []string{l["verdict"], l["to_decide"]}, name)
		require.Contains(t, read(t, results, "smoke", report.ClaimsFile), "not measured: `ebssc run table`")
	}
}

// Lines whose runs are gone stay, but for what is declared; a comparison with a row that was trained anew does not.
func TestClaimsStay(t *testing.T) {
	results := t.TempDir()
	recordRow(t, results, "relu-lc7", 1, 300, unchanged)
	recordRow(t, results, "crelu-lc7", 1, 200, unchanged)
	before := ledger(t, results, "crelu")
	path := filepath.Join(results, "smoke", "claims.csv")
	text := read(t, path)
	require.NoError(t, os.RemoveAll(filepath.Join(results, "smoke", report.RunsFolder)))
	require.Equal(t, before, ledger(t, results, "crelu"))
	require.Equal(t, text, read(t, path))

	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, ",reproduced,", ",contradicted,")), 0o644))
	require.Equal(t, before, ledger(t, results, "crelu"), "a verdict is never taken from a file")

	recordRow(t, results, "relu-lc7", 1, 250, unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	table, err := report.ReadTable(filepath.Join(results, "smoke", "table.csv"))
	require.NoError(t, err)
	require.Empty(t, table["crelu-lc7"]["base"]+table["crelu-lc7"]["delta_base"]+table["crelu-lc7"]["p_value"])
}

// Claims on decodings are judged over images.
func TestClaimsOnDecodings(t *testing.T) {
	results := t.TempDir()
	study, err := experiments.FindStudy("residuals")
	require.NoError(t, err)
	d := decoded("ssc-ebc17-mnist", 0.001, 0.02)
	for i := range d.Trained {
		d.Trained[i].DifferenceStd = new(0.005)
	}
	for number := 3; number <= 7; number++ {
		d.Trained = append(d.Trained, decode.Fidelity{Block: fmt.Sprintf("conv%d", number), Cosine: 0.5, CosineStd: 0.1, Difference: new(0.02), DifferenceStd: new(0.005)})
		d.Untrained = append(d.Untrained, d.Untrained[0])
	}
	require.NoError(t, report.WriteDecodings(results, study, []report.Decodings{d}))
	lines := ledger(t, results, "class-differences")
	require.Len(t, lines, 6)
	first, second := lines[0], lines[1]
	require.Equal(t, []string{report.Reproduced, "0.019000", "Welch, images", "1000", "1000", "mnist"},
		[]string{first["verdict"], first["measured"], first["method"], first["count"], first["test_images"], first["dataset"]})
	require.InDelta(t, 0.019-1.96*0.005*0.044721, first.Number("interval_low"), 1e-5)
	require.Equal(t, []string{report.Open, report.Open}, []string{second["verdict"], second["claim_verdict"]})
	require.Equal(t, "ebssc run decoding", ledger(t, results, "reconstructions")[0]["to_decide"])
}

// The page holds every report there is, and nothing where there is none.
func TestWritePage(t *testing.T) {
	results := t.TempDir()
	require.NoError(t, report.WritePage(results, "smoke"))
	require.NoFileExists(t, filepath.Join(results, "smoke", report.PageFile))
	recordRow(t, results, "relu-lc7", 1, 300, unchanged)
	recordRow(t, results, "crelu-lc7", 1, 200, unchanged)
	require.NoError(t, report.Write(results, "smoke"))
	require.NoError(t, report.WritePage(results, "smoke"))
	page := read(t, results, "smoke", report.PageFile)
	for _, text := range []string{"EB-SSC at profile smoke", "What the paper claims", "the rows of the paper's Table 2", "CReLU+LC₇", report.Reproduced, "data:image/svg+xml"} {
		require.True(t, strings.Contains(page, text), text)
	}
	require.ErrorContains(t, report.WritePage(results, "smaller"), `unknown profile "smaller"`)
}
