package report_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
)

// compared compares the rows of one experiment in two folders, given how many of 1,000 images each seed errs on.
func compared(t *testing.T, a, b []int) report.ComparedRow {
	all := compareFolders(t, addSeeds(t, "relu-lc7", a), addSeeds(t, "relu-lc7", b))
	require.Len(t, all, 1)
	require.Len(t, all[0].Rows, 1)
	return all[0].Rows[0]
}

// addSeeds records runs of an experiment, which err on so many of 1,000 images, and returns the results' folder.
func addSeeds(t *testing.T, experiment string, counts []int, changes ...change) (results string) {
	results = t.TempDir()
	for i, count := range counts {
		add(t, results, experiment, i+1, append([]change{wrong(count)}, changes...)...)
	}
	return results
}

// compareFolders compares the folders of profile smoke.
func compareFolders(t *testing.T, a, b string) []report.Comparison {
	all, err := report.Compare(filepath.Join(a, "smoke"), filepath.Join(b, "smoke"), suite)
	require.NoError(t, err)
	return all
}

// Single seeds are compared image by image, several by how they vary, and by the number of images where they do not vary.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		a, b            []int
		method, verdict string
	}{
		{[]int{340}, []int{370}, "Bonett-Price, 1000 images", report.Worse}, // 30 images are wrong in B alone, none in A alone
		{[]int{340}, []int{342}, "Bonett-Price, 1000 images", report.Within},
		{[]int{390}, []int{340}, "Bonett-Price, 1000 images", report.Better},
		{[]int{0}, []int{0}, "Bonett-Price, 1000 images", report.Within},
		{[]int{339, 340, 341}, []int{343, 344, 345}, "Welch, 3 seeds", report.Worse},
		{[]int{339, 341}, []int{360, 380}, "Welch, 2 seeds", report.Within}, // two seeds say little
		{[]int{340, 340}, []int{390}, "Newcombe, 1000 images", report.Worse},
		{[]int{340, 340}, []int{370}, "Newcombe, 1000 images", report.Within},
		{[]int{340, 340}, []int{390, 390, 390}, "Newcombe, 1000 images", report.Worse},
	} {
		got := compared(t, c.a, c.b)
		require.Equal(t, []string{c.method, c.verdict}, []string{got.Method, got.Verdict()}, "%v %v: %+v", c.a, c.b, got)
	}
	got := compared(t, []int{339, 340, 341}, []int{343, 344, 345})
	require.InDelta(t, 0.4-2.776445*0.1*0.8164966, got.Interval.Low, 1e-6)
	require.InDelta(t, 0.4+2.776445*0.1*0.8164966, got.Interval.High, 1e-6)
	// Of 340 and 390 of 1,000 images, computed elsewhere by Newcombe's method.
	single := compared(t, []int{340, 340}, []int{390}).Interval
	require.InDelta(t, 0.78016, single.Low, 1e-5)
	require.InDelta(t, 9.19491, single.High, 1e-5)
}

// Rows of other data sets are refused and named, those of other machines and programs compared and named; trials are left out.
func TestCompareLikeWithLike(t *testing.T) {
	a, b := addSeeds(t, "relu-lc7", []int{340}), addSeeds(t, "relu-lc7", []int{345}, func(r *record.Record) {
		r.Origin.Commit, r.Run.Version = "fedcba987654", experiments.Version-1
	})
	add(t, a, "crelu-lc7", 1, images("cifar10"))
	add(t, b, "crelu-lc7", 1, images("cifar10-jpeg"))
	add(t, a, "ssc-lc7", 1)
	add(t, b, "ssc-lc7", 1, epochs(t, 9))
	add(t, b, "unroll-0", 1)
	all := compareFolders(t, a, b)
	version := fmt.Sprintf("version %d → %d", experiments.Version, experiments.Version-1)
	require.Len(t, all, 2)
	require.Equal(t, "table", all[0].Study)
	require.Len(t, all[0].Rows, 1)
	require.Equal(t, []string{version, "commit 0123456789ab → fedcba987654"}, all[0].Rows[0].Changes)
	require.Equal(t, []string{"ssc-lc7"}, all[0].OnlyA)
	require.Equal(t, []string{"crelu-lc7 is of CIFAR-10 (SHA-256 cifar10-0123…) in A and of CIFAR-10 (JPEG copy) (SHA-256 cifar10-jpeg…) in B"}, all[0].Refused)
	require.Equal(t, report.Comparison{Study: "unroll", OnlyB: []string{"unroll-0"}}, all[1])
	text := all[0].Text()
	require.Regexp(t, `\nrelu-lc7 +cifar10-made +34\.00 +34\.50 +\+0\.50 +34\.00 +34\.50 +\+0\.50 +-0\.\d+ to \+1\.\d+ +Bonett-Price, 1000 images +within\n`, text)
	for _, line := range []string{"changed: " + version + ", commit 0123456789ab → fedcba987654 (relu-lc7)\n", "not compared: crelu-lc7 is of", "only in A: ssc-lc7\n"} {
		require.Contains(t, text, line)
	}
	require.Empty(t, report.WorseRows(all))
	worse := compareFolders(t, addSeeds(t, "relu-lc7", []int{340}), addSeeds(t, "relu-lc7", []int{400}))
	require.Equal(t, []string{"table relu-lc7"}, report.WorseRows(worse))

	// Each data set that both have is compared.
	both := []string{addSeeds(t, "relu-lc7", []int{340}), addSeeds(t, "relu-lc7", []int{340})}
	add(t, both[0], "relu-lc7", 1, wrong(340), images("cifar10-jpeg"))
	add(t, both[1], "relu-lc7", 1, wrong(400), images("cifar10-jpeg"))
	rows := compareFolders(t, both[0], both[1])[0].Rows
	require.Len(t, rows, 2)
	require.ElementsMatch(t, []string{"cifar10-made within", "cifar10-jpeg worse"},
		[]string{rows[0].Dataset + " " + rows[0].Verdict(), rows[1].Dataset + " " + rows[1].Verdict()})

	// Of one run by two versions of the program the newer one counts.
	add(t, b, "relu-lc7", 1, wrong(350))
	require.InDelta(t, 35, compareFolders(t, a, b)[0].Rows[0].Test.B, 1e-9)
}

// A trial of another width never replaces the profile's own row, however late it ended, and seeds of two versions of the program are
// never averaged.
func TestCompareTakesOneVersionOfARow(t *testing.T) {
	a := addSeeds(t, "relu-lc7", []int{300, 310, 320})
	b := addSeeds(t, "relu-lc7", []int{300, 310, 320})
	trial := recordtest.New(t, suite, "relu-lc7", "smoke", 1, experiments.Overrides{Width: 8})
	wrong(900)(&trial)
	trial.Finished = trial.Finished.Add(time.Hour)
	_, err := trial.Write(filepath.Join(b, "smoke", record.Folder))
	require.NoError(t, err)
	row := compareFolders(t, a, b)[0].Rows[0]
	require.InDelta(t, 31, row.Test.B, 1e-9)
	require.Empty(t, row.Changes)

	old := addSeeds(t, "relu-lc7", []int{300, 310, 320}, func(r *record.Record) { r.Run.Version = experiments.Version - 1 })
	add(t, old, "relu-lc7", 1, wrong(400))
	row = compareFolders(t, a, old)[0].Rows[0]
	require.InDelta(t, 40, row.Test.B, 1e-9)
	require.Contains(t, row.Changes, "seeds 3 → 1")
}

// What cannot be compared is named.
func TestCompareSaysWhatIsWrong(t *testing.T) {
	table := filepath.Join(addSeeds(t, "relu-lc7", []int{300}), "smoke")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	quick := t.TempDir()
	_, err := recordtest.New(t, suite, "relu-lc7", "quick", 1, experiments.Overrides{}).Write(filepath.Join(quick, record.Folder))
	require.NoError(t, err)
	mixed := addSeeds(t, "relu-lc7", []int{300})
	_, err = recordtest.New(t, suite, "relu-lc7", "quick", 1, experiments.Overrides{}).Write(filepath.Join(mixed, "smoke", record.Folder))
	require.NoError(t, err)
	for b, says := range map[string]string{
		filepath.Join(file, "x"):      "nothing to compare: ",
		file:                          "is not a folder",
		t.TempDir():                   "has no records to compare",
		quick:                         "is of profile smoke and " + quick + " of profile quick",
		filepath.Join(mixed, "smoke"): "holds records of profiles",
		filepath.Join(addSeeds(t, "crelu-lc7", []int{300}), "smoke"):                   "no row in common",
		filepath.Join(addSeeds(t, "relu-lc7", []int{300}, images("cifar10")), "smoke"): "no row of the same data set: relu-lc7 is of",
	} {
		_, err := report.Compare(table, b, suite)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n")
	}
}

// A row is never worse than itself, and what is worse in B than in A is better in A than in B, by as much.
func TestCompareTurnsAround(t *testing.T) {
	opposite := map[string]string{report.Worse: report.Better, report.Better: report.Worse, report.Within: report.Within}
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := t.TempDir(), t.TempDir()
	for _, e := range suite.Experiments() {
		for _, results := range []string{a, b} {
			for seed := range 1 + rng.IntN(3) {
				add(t, results, e.Name, seed+1, wrong(rng.IntN(101)))
			}
		}
	}
	there, back, same := compareFolders(t, a, b), compareFolders(t, b, a), compareFolders(t, a, a)
	// Decodings are of fewer test images at this scale, so these runs of theirs are trials.
	decoded := slices.DeleteFunc(slices.Clone(suite), func(s experiments.Study) bool { return s.Report != experiments.Decodings })
	require.Len(t, there, len(suite)-len(decoded))
	for i := range there {
		require.NotEmpty(t, there[i].Rows)
		for j, row := range there[i].Rows {
			turned, itself := back[i].Rows[j], same[i].Rows[j]
			require.Equal(t, row.Test.Value(), -turned.Test.Value())
			require.Equal(t, opposite[row.Verdict()], turned.Verdict())
			require.InDelta(t, row.Interval.Low, -turned.Interval.High, 1e-12)
			require.InDelta(t, row.Interval.High, -turned.Interval.Low, 1e-12)
			require.Zero(t, itself.Test.Value())
			require.Empty(t, itself.Changes)
			require.Equal(t, report.Within, itself.Verdict())
		}
	}
}
