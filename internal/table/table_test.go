package table_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/internal/table"
)

var layout = table.Layout{Columns: []string{"row", "batch", "seconds", "note"}, Keys: 2}

func line(row, batch, seconds string) table.Line {
	return table.Line{"row": row, "batch": batch, "seconds": seconds}
}

// What is written is read again, with commas, quotes and line breaks in it.
func TestRoundTrip(t *testing.T) {
	field := rapid.StringMatching(`[ -~×\n]{0,6}`)
	path := filepath.Join(t.TempDir(), "folder", "table.csv")
	rapid.Check(t, func(t *rapid.T) {
		var lines []table.Line
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			l := table.Line{}
			for _, column := range layout.Columns {
				l[column] = field.Draw(t, column)
			}
			lines = append(lines, l)
		}
		require.NoError(t, layout.Write(path, lines))
		got, err := layout.Read(path)
		require.NoError(t, err)
		require.Equal(t, lines, got)
		// What is there already changes nothing when it is put there again, if lines of a key stand together.
		merged := layout.Merge(lines, lines)
		require.ElementsMatch(t, lines, merged)
		require.Equal(t, merged, layout.Merge(merged, lines))
	})
}

func TestUpdateReplacesByKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, layout.Update(path, []table.Line{
		line("a", "1", "1"), line("a", "1", "2"), line("b", "1", "3"), line("a", "2", "4"),
	}))
	require.NoError(t, layout.Update(path, []table.Line{line("c", "1", "5"), line("a", "1", "6"), line("c", "1", "7")}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "row,batch,seconds,note\na,1,6,\nb,1,3,\na,2,4,\nc,1,5,\nc,1,7,\n", string(text))
}

// Fields of a key do not run into one another.
func TestKeysAreApart(t *testing.T) {
	require.Len(t, layout.Merge([]table.Line{line("a", "11", "")}, []table.Line{line("a1", "1", "")}), 2)
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	lines, err := layout.Read(path)
	require.NoError(t, err)
	require.Empty(t, lines, "no file, no lines")
	for text, message := range map[string]string{
		"":                              "is damaged",
		"row,batch,seconds,note\na,1\n": "is damaged",
		"row,batch,minutes\na,1,2\n":    "other columns than this program writes (minutes)",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := layout.Read(path)
		require.ErrorContains(t, err, message)
		require.ErrorContains(t, err, path)
		require.Error(t, layout.Update(path, []table.Line{line("a", "1", "2")}))
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(kept), "it stays as it is")
	}
	// A table of an older version lacks a column.
	require.NoError(t, os.WriteFile(path, []byte("row,batch\na,1\n"), 0o644))
	require.NoError(t, layout.Update(path, []table.Line{line("b", "1", "2")}))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "row,batch,seconds,note\na,1,,\nb,1,2,\n", string(text))
}

func TestNumber(t *testing.T) {
	line := table.Line{"err": "1.25", "note": "none"}
	require.Equal(t, 1.25, line.Number("err"))
	require.True(t, math.IsNaN(line.Number("note")))
	require.True(t, math.IsNaN(line.Number("missing")))
}
