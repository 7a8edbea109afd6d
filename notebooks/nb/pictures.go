package nb

import (
	"image/color"
	"math"

	"github.com/gomlx/gomlx/core/tensors"
	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"ebsscgo/internal/plot"
)

// ShowChart shows a line chart, of the first curves if it has more than there are colours.
func ShowChart(chart Chart) { Show(Must(chart.First().Draw())) }

// Around is a tile of numbers [height, width, channels] around 0, which is grey; limit is white and −limit black.
func Around(caption string, numbers []float64, height, width, channels int, limit float64) Tile {
	return Tile{Caption: caption, Picture: Photo(numbers, height, width, channels, -limit, limit)}
}

// Digit is a tile of a grey image [1, height, width, 1] between 0 and 1, as dark ink.
func Digit(caption string, image *tensors.Tensor) Tile {
	return Tile{Caption: caption, Picture: Photo(Values(image), image.Shape().Dim(1), image.Shape().Dim(2), 1, 1, 0)}
}

// Filters are tiles of a dictionary [height, width, channels, K], each at its own contrast.
func Filters(dictionary *tensors.Tensor) (tiles []Tile) {
	dims, all := dictionary.Shape().Dimensions, Values(dictionary)
	for k := range dims[3] {
		var filter []float64
		for i := k; i < len(all); i += dims[3] {
			filter = append(filter, all[i])
		}
		tiles = append(tiles, Around("", filter, dims[0], dims[1], dims[2], Peak(filter)))
	}
	return tiles
}

// Group is a series of numbers with a name.
type Group struct {
	Name   string
	Values []float64
}

// Histogram counts the numbers of groups in bins of about that width.
func Histogram(title, x, y string, width float64, groups ...Group) Figure {
	p := plot.Plot(title, x, y)
	for i, group := range groups {
		if len(group.Values) == 0 {
			continue
		}
		bars := Must(plotter.NewHist(plotter.Values(group.Values), 1))
		count := math.Ceil((bars.Bins[0].Max - bars.Bins[0].Min) / width)
		bars = Must(plotter.NewHist(plotter.Values(group.Values), max(int(count), 1)))
		bars.FillColor, bars.LineStyle.Width = plot.Hue(i), 0
		p.Add(bars)
		p.Legend.Add(group.Name, bars)
	}
	return SideBySide(480, 240, p)
}

// Named is a line of [Lines] in a colour of its own, and its name in the legend, if any.
type Named struct {
	Line int
	Name string
}

// Lines plots the columns of values [steps, lines] by step: all in grey, and the named ones in colours on top.
func Lines(title, x, y string, values [][]float64, named ...Named) *gonum.Plot {
	p := plot.Plot(title, x, y)
	add := func(column int, hue color.Color, width vg.Length) *plotter.Line {
		points := make(plotter.XYs, len(values))
		for step, of := range values {
			points[step] = plotter.XY{X: float64(step), Y: of[column]}
		}
		line := Must(plotter.NewLine(points))
		line.Color, line.Width = hue, width
		p.Add(line)
		return line
	}
	for column := range values[0] {
		add(column, color.Gray{0xb4}, 1.2)
	}
	for i, n := range named {
		line := add(n.Line, plot.Hue(i), 2.5)
		if n.Name != "" {
			p.Legend.Add(n.Name, line)
		}
	}
	return p
}
