package plot_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/plot"
)

// The same input renders to the same bytes: figures carry no time, no random names, and no order of a map.
func TestFiguresAreDeterministic(t *testing.T) {
	for name, draw := range map[string]func() (plot.Figure, error){
		"chart": chart(0.1).Draw,
		"dots": func() (plot.Figure, error) {
			return plot.Dots{Title: "title", X: "axis", Rows: []string{"a", "b"}, Curves: []plot.Curve{
				{Name: "first", Points: []plot.Point{{Mean: 1, Low: 0, High: 2}, plot.At(1, 3)}},
				{Name: "second", Hollow: true, Points: []plot.Point{plot.At(0, 2), plot.At(1, -1)}},
			}, Zero: true}.Draw()
		},
		"grid": func() (plot.Figure, error) {
			tile := plot.Tile{Caption: "caption", Picture: plot.Map([]float64{-1, 0.3, 0, 1}, 2, 2, 1), Strong: true}
			grid := plot.Grid{Title: "title", Columns: 2, Side: 50, Rows: []string{"row"}, Scale: 1, Tiles: []plot.Tile{tile, tile}}
			return grid.Draw(), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, err := draw()
			require.NoError(t, err)
			again, err := draw()
			require.NoError(t, err)
			for _, render := range []func(plot.Figure) ([]byte, error){plot.Figure.SVG, plot.Figure.PNG} {
				want, err := render(first)
				require.NoError(t, err)
				require.NotEmpty(t, want)
				for _, figure := range []plot.Figure{first, again} {
					got, err := render(figure)
					require.NoError(t, err)
					require.True(t, bytes.Equal(want, got))
				}
			}
		})
	}
}
