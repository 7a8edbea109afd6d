package nb

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
)

// A cell can be read at a glance: at most so many lines and columns of code.
func TestCellsAreShort(t *testing.T) {
	const maxLines, maxColumns = 40, 110
	paths, err := filepath.Glob("../*.ipynb")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		var notebook struct {
			Cells []struct {
				Type   string   `json:"cell_type"`
				Source []string `json:"source"`
			}
		}
		require.NoError(t, json.Unmarshal(content, &notebook), path)
		require.NotEmpty(t, notebook.Cells, path)
		for i, cell := range notebook.Cells {
			if cell.Type != "code" {
				continue
			}
			require.LessOrEqual(t, len(cell.Source), maxLines, "lines of %s, cell %d", path, i+1)
			for _, line := range cell.Source {
				columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
				require.LessOrEqual(t, columns, maxColumns, "columns of %s, cell %d: %s", path, i+1, line)
			}
		}
	}
}

// Filters are the columns of a dictionary.
func TestFilters(t *testing.T) {
	tiles := Filters(tensors.FromFlatDataAndDimensions([]float64{-1, 2, 1, 4}, 1, 2, 1, 2))
	require.Len(t, tiles, 2)
	left, _, _, _ := tiles[0].Picture.At(0, 0).RGBA()
	right, _, _, _ := tiles[0].Picture.At(1, 0).RGBA()
	require.Zero(t, left, "−1 is black")
	require.EqualValues(t, 0xffff, right, "1 is white")
}

// Patches have mean 0 and unit norm.
func TestUnit(t *testing.T) {
	unit, norm := Unit([]float64{1, 5, 1, 5})
	require.Equal(t, []float64{-0.5, 0.5, -0.5, 0.5}, unit)
	require.Equal(t, 4.0, norm)
}

func TestCells(t *testing.T) {
	require.Equal(t, "1.5 | 2.0", Cells("%.1f", 1.5, 2))
}
