package report_test

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
)

// profile returns the profile of a name.
func profile(t testing.TB, name string) experiments.Profile {
	p, err := experiments.FindProfile(name)
	require.NoError(t, err)
	return p
}

// load loads profile quick.
func load(t testing.TB, results string) *report.Results {
	p, err := report.Load(results, "quick", profile(t, "quick"))
	require.NoError(t, err)
	return p
}

// study returns the study of a name.
func study(t testing.TB, name string) experiments.Study {
	s, err := catalogue.All.Study(name)
	require.NoError(t, err)
	return s
}

// save saves a record in the folder of profile quick, and returns its path.
func save(t testing.TB, results string, r record.Record) (path string) {
	folder := filepath.Join(results, "quick", record.Folder)
	r, err := r.Save(folder)
	require.NoError(t, err)
	return record.Path(folder, r.ID)
}

// fill saves records of all planned runs of studies at profile quick, but those that change makes
// nil. Training and test errors come from `errors`.
func fill(t testing.TB, results string, errors func(experiments.Run) (train, test float64),
	change func(*record.Record) bool, studies ...string) {
	for _, name := range studies {
		s := study(t, name)
		runs, err := experiments.Plan(s, profile(t, "quick"), recordtest.Dataset(s.Images),
			experiments.Overrides{})
		require.NoError(t, err)
		for _, run := range runs {
			if name == "table" && !slices.Contains(rows, run.Experiment) {
				continue // a row that a user added
			}
			train, test := errors(run)
			if r := recordtest.Made(run, train, test); change == nil || change(&r) {
				save(t, results, r)
			}
		}
	}
}

// rows are the rows of the table, and steps what is added from a row to the next, in each of five
// seeds. Sums of squares are 2, 2, 0 and 2.
var (
	rows  = []string{"relu-lc7", "crelu-lc7", "crelu-sn-lc7", "ssc-lc7", "ssc-ebc67"}
	steps = [][]float64{{30, 31, 29, 32, 28}, {-2, -1, -3, -2, -2}, {0, 0, 1, -1, 0}, {1, 1, 1, 1, 1},
		{-4, -2, -3, -3, -3}}
)

// stepped are errors of the table that follow steps; other experiments have one error.
func stepped(run experiments.Run) (train, test float64) {
	at := slices.Index(rows, run.Experiment)
	if at < 0 {
		return 20, 30
	}
	for _, step := range steps[:at+1] {
		test += step[run.Seed-1]
	}
	return test - 10, test
}

// writeAll writes the reports of profile quick.
func writeAll(t testing.TB, results string) (map[string]*report.Results, error) {
	folders := map[string]experiments.Profile{"quick": profile(t, "quick")}
	return report.WriteAll(t.Context(), results, folders)
}

// write writes the reports of profile quick and returns all files of its folder but the records, by
// their paths.
func write(t testing.TB, results string) map[string]string {
	_, err := writeAll(t, results)
	require.NoError(t, err)
	return files(t, filepath.Join(results, "quick"))
}

// files are those of a folder but the records, by their paths.
func files(t testing.TB, folder string) map[string]string {
	return filetest.Tree(t, folder, record.Folder)
}

// picture writes a picture of decodings, and adds it to a record.
func picture(t testing.TB, results string, r *record.Record, name string) {
	filetest.Write(t, filepath.Join(results, "quick", record.FiguresFolder, name), name)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	r.Decodings.Figures = append(r.Decodings.Figures,
		record.Figure{File: name, Title: "a picture", SHA256: sum})
}

// cells are the rows of a CSV file, by the names of its columns.
func cells(t testing.TB, content string) (rows []map[string]string) {
	lines, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	require.NoError(t, err)
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func parsed(t testing.TB, number string) float64 {
	value, err := strconv.ParseFloat(number, 64)
	require.NoError(t, err)
	return value
}
