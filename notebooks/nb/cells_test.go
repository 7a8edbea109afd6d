package nb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/filetest"
)

// notebook is a committed notebook.
type notebook struct {
	Cells []struct {
		Type     string `json:"cell_type"`
		Source   []string
		Outputs  json.RawMessage
		Metadata map[string]any
	}
}

// The cells of a committed notebook can be read at a glance, and it has been executed: where it
// draws, there are small pictures. No output is an error or shows what differs between machines and
// executions.
func TestCommittedNotebooks(t *testing.T) {
	const maxLines, maxColumns, maxPicture, maxNotebook = 40, 110, 96 << 10, 400_000
	pictures := regexp.MustCompile(`"image/png": "([^"]*)"`)
	elsewhere := regexp.MustCompile(
		`/root|/home/|/tmp/\w+/|/work|\\u001b|"execution"|"stderr"|"error"|widget`)
	paths, err := filepath.Glob("../*.ipynb")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		content := filetest.Read(t, path)
		require.Less(t, len(content), maxNotebook, path)
		require.Empty(t, elsewhere.FindString(pictures.ReplaceAllString(content, "")), path)
		for _, picture := range pictures.FindAllStringSubmatch(content, -1) {
			require.Less(t, len(picture[1]), maxPicture, path)
		}
		var n notebook
		require.NoError(t, json.Unmarshal([]byte(content), &n), path)
		require.NotEmpty(t, n.Cells, path)
		require.Contains(t, strings.Join(n.Cells[0].Source, ""), "(in_cells.md)", path)
		for i, cell := range n.Cells {
			at := fmt.Sprintf("%s, cell %d", path, i+1)
			if fmt.Sprint(cell.Metadata["tags"]) == "[draws]" {
				require.Contains(t, string(cell.Outputs), "image/png", at)
			}
			if cell.Type != "code" {
				continue
			}
			require.LessOrEqual(t, len(cell.Source), maxLines, at)
			for _, line := range cell.Source {
				columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
				require.LessOrEqual(t, columns, maxColumns, "%s: %s", at, line)
			}
		}
	}
}

// What the page about cells says was tried with the kernel that is built.
func TestInCellsNamesTheKernel(t *testing.T) {
	requirement := regexp.MustCompile(`janpfeifer/gonb v(\S+)`)
	kernel := requirement.FindStringSubmatch(filetest.Read(t, "../../go.mod"))
	require.Contains(t, filetest.Read(t, "../in_cells.md"), "GoNB "+kernel[1]+".")
}

// Patches have mean 0 and unit norm.
func TestUnit(t *testing.T) {
	unit, norm := Unit([]float64{1, 5, 1, 5})
	require.Equal(t, []float64{-0.5, 0.5, -0.5, 0.5}, unit)
	require.Equal(t, 4.0, norm)
}

// Pictures keep what is black and what is white.
func TestSmall(t *testing.T) {
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 40))
	for i := range 1600 {
		picture.SetNRGBA(i%40, i/40, color.NRGBA{uint8(i / 8), uint8(i), uint8(3 * i), 0xff})
	}
	draw.Draw(picture, image.Rect(0, 0, 20, 40), image.White, image.Point{}, draw.Src)
	draw.Draw(picture, image.Rect(0, 20, 20, 40), image.Black, image.Point{}, draw.Src)
	decoded, err := png.Decode(bytes.NewReader(small(picture)))
	require.NoError(t, err)
	require.Equal(t, picture.Bounds(), decoded.Bounds())
	require.IsType(t, new(image.Paletted), decoded)
	require.Equal(t, color.RGBA{0xff, 0xff, 0xff, 0xff}, decoded.At(5, 5))
	require.Equal(t, color.RGBA{A: 0xff}, decoded.At(5, 35))
	r, g, _, _ := decoded.At(30, 20).RGBA()
	want := picture.NRGBAAt(30, 20)
	require.InDelta(t, want.R, r>>8, 24)
	require.InDelta(t, want.G, g>>8, 24)
}
