package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/experiments"
	"ebsscgo/internal/stats"
)

// sample is a table with a column of each kind, and a row of empty cells at its end.
func sample(texts ...string) Table {
	t := Table{Name: "sample", Columns: []Column{
		{Title: "text", Name: "text"}, {Title: "code", Name: "code", Kind: Code},
		{Title: "number", Name: "number", Kind: Number},
		{Title: "mean", Name: "mean", Kind: Mean}, {Title: "interval", Name: "interval", Kind: Interval},
		{Name: "hidden", Kind: Number},
	}}
	for _, s := range texts {
		t.Rows = append(t.Rows, []Cell{text(s), text(s), number(-1.005, 1),
			mean(stats.Sample{Mean: 2, Std: 0.25, N: 3}, 2),
			Cell{value: -2, low: -3, high: -1, format: "%.1f"}.boldIfClear(), count(1_234_567)})
	}
	t.Rows = append(t.Rows, make([]Cell, len(t.Columns)))
	return t
}

// lines are those of a CSV file.
func lines(t *testing.T, content []byte) [][]string {
	all, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	require.NoError(t, err)
	return all
}

func TestTableIsPrinted(t *testing.T) {
	table := sample("a")
	require.Equal(t,
		"| text | code | number | mean | interval |\n| --- | --- | ---: | ---: | ---: |\n"+
			"| a | `a` | −1.0 | 2.00&nbsp;±&nbsp;0.25 | **−2.0 (−3.0 to −1.0)** |\n| – | – | – | – | – |\n",
		table.Markdown())
	require.Equal(t, [][]string{
		{"text", "code", "number", "mean", "mean_std", "mean_n", "interval", "interval_low",
			"interval_high", "hidden"},
		{"a", "a", "-1.005", "2", "0.25", "3", "-2", "-3", "-1", "1234567"},
		{"", "", "", "", "", "", "", "", "", ""},
	}, lines(t, table.CSV()))
	require.Equal(t, "TEXT  CODE  NUMBER         MEAN             INTERVAL\n"+
		"a     a       −1.0  2.00 ± 0.25  −2.0 (−3.0 to −1.0)\n"+
		"–     –          –            –                    –\n", table.Text())
}

// A single seed has no deviation, an unknown interval is not printed, what rounds to 0 has no sign,
// and NaN is an empty cell.
func TestCellsOfLittle(t *testing.T) {
	require.Equal(t, "2.00", mean(stats.SampleOf([]float64{2}), 2).human())
	require.Equal(t, []string{"2", "", "1"}, mean(stats.SampleOf([]float64{2}), 2).csvFields(Mean))
	require.Equal(t, "–", mean(stats.SampleOf(nil), 2).human())
	require.Equal(t, "1.0", interval(stats.Estimate{Value: 1}, "%.1f").boldIfClear().human())
	require.Equal(t, "0.00", number(-0.001, 2).human())
	require.Equal(t, "–", published(0).human())
	require.Equal(t, []string{""}, number(math.NaN(), 2).csvFields(Number))
}

// Whatever a text holds, the table keeps its shape, and the text does nothing in a browser, a
// spreadsheet or a terminal.
func TestHostileText(t *testing.T) {
	for _, hostile := range []string{
		"<script>", "a|b", "`code`", "two\nlines", "=1+1", "+1", "-1", "@a", "\x1b[31mred", "a\tb",
		"[a](b)", "\u202eback", "\\",
	} {
		table := sample(hostile)
		markdown := strings.Split(strings.TrimSpace(table.Markdown()), "\n")
		require.Len(t, markdown, 4)
		rest, found := strings.CutPrefix(markdown[2], "| "+escaped(hostile)+" | ")
		require.True(t, found)
		require.Equal(t, []int{2, 4}, []int{strings.Count(rest, "`"), strings.Count(rest, "|")}, hostile)
		plain := regexp.MustCompile(`\\.`).ReplaceAllString(escaped(hostile), "")
		require.False(t, strings.ContainsAny(plain, "<>|`[]\\"), hostile)
		cell := lines(t, table.CSV())[1][0]
		require.NotContains(t, "=+-@", cell[:1], hostile)
		require.Len(t, strings.Split(strings.TrimSpace(table.Text()), "\n"), 3)
	}
	rapid.Check(t, func(draw *rapid.T) {
		table := sample(rapid.String().Draw(draw, "text"))
		for _, printed := range []string{table.Text(), table.Markdown(), string(table.CSV())} {
			for _, r := range printed {
				require.True(draw, r == '\n' || unicode.IsPrint(r), "%q", printed)
			}
		}
		require.Equal(draw, 4, strings.Count(table.Markdown(), "\n"))
	})
}

// A column that is empty in all rows is left to CSV.
func TestEmptyColumnsAreHidden(t *testing.T) {
	table := Table{Columns: []Column{{Title: "empty", Name: "empty"}, {Title: "full", Name: "full"}},
		Rows: [][]Cell{{{}, text("x")}}}
	require.Equal(t, "FULL\nx\n", table.withoutEmpty().Text())
	require.Equal(t, "empty,full\n,x\n", string(table.CSV()))
}

// A sum has each term once, and the added ones first.
func TestContrastsAreReadable(t *testing.T) {
	twice := []experiments.Term{{Weight: 1, Experiment: "1"}, {Weight: -1, Experiment: "0"},
		{Weight: -1, Experiment: "2"}, {Weight: 1, Experiment: "1"}}
	require.Equal(t, "2 × (T = 1) − (T = 0) − (T = 2)",
		contrast(twice, func(name string) string { return "T = " + name }))
	untrained := experiments.Term{Weight: -1, Experiment: "a", Block: "conv7", Untrained: true}
	require.Equal(t, "a − a conv7, untrained", contrast([]experiments.Term{untrained,
		{Weight: 1, Experiment: "a"}}, strings.ToLower))
}
