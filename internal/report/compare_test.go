package report_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/report"
)

// csvFile writes a CSV file of lines that have the columns of the first.
func csvFile(t require.TestingT, path string, lines ...report.Line) string {
	columns := slices.Sorted(maps.Keys(lines[0]))
	// The key comes first.
	slices.SortStableFunc(columns, func(a, b string) int { return first(b) - first(a) })
	text := strings.Join(columns, ",") + "\n"
	for _, l := range lines {
		var fields []string
		for _, column := range columns {
			fields = append(fields, l[column])
		}
		text += strings.Join(fields, ",") + "\n"
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func first(column string) int {
	if column == "experiment" || column == "sweeps" {
		return 1
	}
	return 0
}

// row is a line of a table.csv, changed as the columns and values say.
func row(experiment, testErr string, changes ...string) report.Line {
	l := report.Line{"experiment": experiment, "dataset": "cifar10", "dataset_sha256": "01", "profile": "quick", "backend": "xla-cpu",
		"seeds": "1", "epochs": "6", "train_images": "50000", "test_images": "10000", "params": "1234", "train_err": "10.00", "train_err_std": "", "test_err": testErr, "test_err_std": "", "commit": "abc"}
	for i := 0; i < len(changes); i += 2 {
		l[changes[i]] = changes[i+1]
	}
	return l
}

// compareRows compares two rows of the same name in tables of their own.
func compareRows(t *testing.T, a, b report.Line) report.ComparedRow {
	folder := t.TempDir()
	all, err := report.Compare(csvFile(t, filepath.Join(folder, "a.csv"), a), csvFile(t, filepath.Join(folder, "b.csv"), b))
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Len(t, all[0].Rows, 1)
	return all[0].Rows[0]
}

// Single seeds are compared by their test images.
func TestCompareByTestImages(t *testing.T) {
	for _, c := range []struct {
		a, b                     report.Line
		method, verdict, because string
	}{
		{row("x", "34.00"), row("x", "35.50"), "binomial, 10000 images", report.Worse, "1.5 points are 2.2 standard errors"},
		{row("x", "34.00"), row("x", "35.00"), "binomial, 10000 images", report.Within, "1 point is 1.5 standard errors"},
		{row("x", "35.50"), row("x", "34.00"), "binomial, 10000 images", report.Better, ""},
		{row("x", "34.00", "test_images", "1000"), row("x", "35.50", "test_images", "1000"), "binomial, 1000 images", report.Within, ""},
		{row("x", "34.00"), row("x", "35.50", "test_images", "1000"), "binomial, 10000 and 1000 images", report.Within, ""},
		{row("x", "34.00", "test_images", ""), row("x", "90.00"), "none", report.Undecided, "an older table does not say how many"},
		{row("x", "0.00"), row("x", "0.00"), "binomial, 10000 images", report.Within, ""},
		{row("x", "0.00"), row("x", "0.02"), "binomial, 10000 images", report.Within, "two images"},
	} {
		got := compareRows(t, c.a, c.b)
		require.Equal(t, c.method, got.Method)
		require.Equal(t, c.verdict, got.Verdict(), "%s: %+v", c.because, got)
	}
}

// Several seeds are compared by how they vary, whatever the images; where they do not vary, by the images.
func TestCompareBySeeds(t *testing.T) {
	several := func(testErr, std, seeds string) report.Line {
		return row("x", testErr, "test_err_std", std, "seeds", seeds, "dataset", "cifar10-jpeg")
	}
	got := compareRows(t, several("34.00", "0.10", "3"), several("34.40", "0.10", "3"))
	require.Equal(t, "Welch, 3 and 3 seeds", got.Method)
	require.Equal(t, report.Worse, got.Verdict())
	require.InDelta(t, 0.4-2.776445*0.1*0.8164966, got.Interval.Low, 1e-6)
	require.InDelta(t, 0.4+2.776445*0.1*0.8164966, got.Interval.High, 1e-6)

	got = compareRows(t, several("34.00", "0.10", "2"), several("37.00", "1.00", "2"))
	require.Equal(t, report.Within, got.Verdict(), "two seeds say little: %+v", got)
	for _, other := range []report.Line{several("37.00", "", "1"), several("37.00", "0.00", "3")} {
		got = compareRows(t, several("34.00", "0.00", "2"), other)
		require.Equal(t, "binomial, 10000 images", got.Method)
		require.Equal(t, report.Worse, got.Verdict())
	}
}

// Fractions of the sweeps' summaries are compared in percent; what else differs in how a row was got is named.
func TestCompareSweeps(t *testing.T) {
	folder := t.TempDir()
	sweep := func(sweeps, testErr, alpha string) report.Line {
		return report.Line{"sweeps": sweeps, "dataset": "mnist", "dataset_sha256": "02", "profile": "quick", "test_images": "10000", "seeds": "1", "alpha": alpha,
			"train_err": "0.02607", "test_err": testErr, "test_err_std": ""}
	}
	csvFile(t, filepath.Join(folder, "a", "unroll_summary.csv"), sweep("0", "0.02940", "0"), sweep("1", "0.02370", "0"), sweep("4", "0.9", "0"))
	csvFile(t, filepath.Join(folder, "b", "unroll_summary.csv"), sweep("2", "0.9", "0"), sweep("1", "0.02940", "0.5"), sweep("0", "0.02940", "0"))
	csvFile(t, filepath.Join(folder, "b", "table.csv"), row("relu-lc7", "30.00"), row("ssc-lc7", "31.00"))
	all, err := report.Compare(filepath.Join(folder, "a"), filepath.Join(folder, "b"))
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, report.Comparison{Table: "table.csv", Key: "experiment", OnlyB: []string{"relu-lc7", "ssc-lc7"}}, all[0])
	unroll := all[1]
	require.Equal(t, []string{"unroll_summary.csv", "sweeps", "4", "2"}, []string{unroll.Table, unroll.Key, unroll.OnlyA[0], unroll.OnlyB[0]})
	require.Len(t, unroll.Rows, 2)
	require.Equal(t, "0", unroll.Rows[0].Name)
	require.Empty(t, unroll.Rows[0].Changes)
	require.InDelta(t, 2.607, unroll.Rows[0].Train.A, 1e-9)
	require.Equal(t, []report.Change{{Column: "alpha", A: "0", B: "0.5"}}, unroll.Rows[1].Changes)
	require.True(t, unroll.Rows[1].Alike())
	require.InDelta(t, 0.57, unroll.Rows[1].Test.Value(), 1e-9)
	require.Equal(t, report.Worse, unroll.Rows[1].Verdict())
	// As of 237 and 294 of 10,000 images, computed elsewhere.
	require.InDelta(t, 0.12425, unroll.Rows[1].Interval.Low, 1e-5)
	require.InDelta(t, 1.01811, unroll.Rows[1].Interval.High, 1e-5)

	a, b := sweep("0", "0.02000", "0"), sweep("0", "0.03000", "0")
	for _, l := range []report.Line{a, b} {
		l["seeds"], l["test_err_std"] = "3", "0.00300"
	}
	got := compareRows(t, a, b)
	require.Equal(t, "Welch, 3 and 3 seeds", got.Method)
	require.InDelta(t, 1-2.776445*0.3*0.8164966, got.Interval.Low, 1e-6)
}

// Folders of profiles are compared profile by profile; other images or profiles are told.
func TestCompareFoldersOfProfiles(t *testing.T) {
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a"), filepath.Join(folder, "b")
	csvFile(t, filepath.Join(a, "quick", "table.csv"), row("x", "30.00"))
	csvFile(t, filepath.Join(a, "smoke", "table.csv"), row("x", "80.00", "profile", "smoke"))
	csvFile(t, filepath.Join(b, "quick", "table.csv"), row("x", "30.00", "dataset_sha256", "03", "commit", "def"))
	csvFile(t, filepath.Join(b, "paper.csv"), report.Line{"experiment": "x"})
	all, err := report.Compare(a, b)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "quick/table.csv", all[0].Table)
	require.Equal(t, []report.Change{{Column: "dataset_sha256", A: "01", B: "03"}, {Column: "commit", A: "abc", B: "def"}}, all[0].Rows[0].Changes)
	require.False(t, all[0].Rows[0].Alike())
	require.Equal(t, report.Comparison{Table: "smoke/table.csv", Key: "experiment", OnlyA: []string{"x"}}, all[1])

	_, err = report.Compare(a, filepath.Join(b, "quick"))
	require.ErrorContains(t, err, "no row in common")
}

// What cannot be compared is named.
func TestCompareSaysWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	table := csvFile(t, filepath.Join(folder, "a", "table.csv"), row("x", "30.00"))
	sweeps := csvFile(t, filepath.Join(folder, "b", "unroll_summary.csv"), report.Line{"sweeps": "0", "test_err": "0.1"})
	epochs := csvFile(t, filepath.Join(folder, "epochs.csv"), report.Line{"sweeps": "0", "seed": "1", "test_err": "0.1"})
	twice := csvFile(t, filepath.Join(folder, "twice.csv"), row("x", "30.00"), row("x", "31.00"))
	none := csvFile(t, filepath.Join(folder, "none.csv"), row("x", ""))
	much := csvFile(t, filepath.Join(folder, "much.csv"), row("x", "100.01"))
	other := csvFile(t, filepath.Join(folder, "other.csv"), row("y", "30.00"))
	empty := filepath.Join(folder, "empty.csv")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	bare := t.TempDir()
	for b, says := range map[string]string{
		filepath.Join(folder, "nothing"): "nothing to compare: stat " + filepath.Join(folder, "nothing"),
		filepath.Dir(table):              "a file with a file",
		sweeps:                           "different kinds (rows, sweeps)",
		epochs:                           epochs + " is no table that can be compared (other columns)",
		empty:                            empty + " is no table that can be compared (EOF)",
		twice:                            twice + ` has the experiment "x" twice`,
		none:                             none + `: the test_err of "x" is "", no error rate`,
		much:                             much + `: the test_err of "x" is "100.01", no error rate`,
		other:                            "no row in common",
	} {
		_, err := report.Compare(table, b)
		require.ErrorContains(t, err, says)
	}
	_, err := report.Compare(filepath.Dir(table), bare)
	require.ErrorContains(t, err, bare+" has no table to compare")
}

// The committed results are as good as themselves.
func TestCompareCommitted(t *testing.T) {
	committed := filepath.Join("..", "..", "results")
	all, err := report.Compare(committed, committed)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 2)
	for _, c := range all {
		requireSame(t, c)
	}
}

// requireSame says that a table was compared with itself.
func requireSame(t require.TestingT, c report.Comparison) {
	require.Empty(t, slices.Concat(c.OnlyA, c.OnlyB))
	for _, r := range c.Rows {
		require.Zero(t, r.Test.Value())
		require.Empty(t, r.Changes)
		require.Contains(t, []string{report.Within, report.Undecided}, r.Verdict(), "%+v", r)
	}
}

// A table is never worse than itself, and what is worse in B than in A is better in A than in B, by as much.
func TestCompareTurnsAround(t *testing.T) {
	folder := t.TempDir()
	number := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%.2f", rapid.Float64Range(0, 100).Draw(t, "number")) })
	line := rapid.Custom(func(t *rapid.T) report.Line {
		l := row("", number.Draw(t, "test_err"), "train_err", number.Draw(t, "train_err"),
			"seeds", rapid.SampledFrom([]string{"1", "2", "3", "10"}).Draw(t, "seeds"),
			"profile", rapid.SampledFrom([]string{"smoke", "quick", "paper", "quick+beta=0.01"}).Draw(t, "profile"),
			"dataset", rapid.SampledFrom([]string{"cifar10", "cifar10-jpeg", "mnist32", "cifar10-unknown"}).Draw(t, "dataset"),
			"test_images", rapid.SampledFrom([]string{"", "1000", "10000"}).Draw(t, "test_images"))
		if l["seeds"] != "1" {
			l["test_err_std"] = rapid.SampledFrom([]string{"0.00", "0.01", "0.30", "9.00"}).Draw(t, "std")
		}
		return l
	})
	lines := rapid.Custom(func(t *rapid.T) (all []report.Line) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"p", "q", "r", "s", "t"}), 3, 5, rapid.ID[string]).Draw(t, "names")
		for _, name := range names {
			l := line.Draw(t, name)
			l["experiment"] = name
			all = append(all, l)
		}
		return all
	})
	opposite := map[string]string{report.Worse: report.Better, report.Better: report.Worse, report.Within: report.Within, report.Undecided: report.Undecided}
	rapid.Check(t, func(t *rapid.T) {
		a := csvFile(t, filepath.Join(folder, "a.csv"), lines.Draw(t, "a")...)
		b := csvFile(t, filepath.Join(folder, "b.csv"), lines.Draw(t, "b")...)
		compare := func(a, b string) report.Comparison {
			all, err := report.Compare(a, b)
			require.NoError(t, err)
			return all[0]
		}
		requireSame(t, compare(a, a))
		there, back := compare(a, b), compare(b, a)
		require.Equal(t, there.OnlyA, back.OnlyB)
		require.Equal(t, there.OnlyB, back.OnlyA)
		require.Len(t, back.Rows, len(there.Rows))
		for _, r := range there.Rows {
			i := slices.IndexFunc(back.Rows, func(other report.ComparedRow) bool { return other.Name == r.Name })
			turned := back.Rows[i]
			require.Equal(t, r.Test.Value(), -turned.Test.Value())
			require.Equal(t, r.Train.Value(), -turned.Train.Value())
			require.Equal(t, opposite[r.Verdict()], turned.Verdict())
			if r.Verdict() != report.Undecided {
				require.Equal(t, report.Interval{Low: -r.Interval.High, High: -r.Interval.Low}, turned.Interval)
			}
			require.Equal(t, r.Alike(), turned.Alike())
		}
	})
}
