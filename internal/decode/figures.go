package decode

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	gonumplot "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"ebsscgo/ebssc"
	"ebsscgo/internal/plot"
)

// Shrinkage draws the paper's Fig. 2: asymmetric shrinkage, Eq. (asym_shrink), for four settings of its thresholds. In the last,
// −β⁻ > β⁺: where both cases of the equation hold it has two values, so it is not a proper function.
func Shrinkage(backend compute.Backend) (plot.Figure, error) {
	exec, err := NewExec(backend, func(v, plus, minus *Node) (above, below *Node) {
		infinite := Infinity(v.Graph(), v.DType(), 1) // switches one ReLU off
		return ebssc.Shrink(v, plus, infinite), ebssc.Shrink(v, infinite, minus)
	})
	if err != nil {
		return plot.Figure{}, fmt.Errorf("building the shrinkage: %w", err)
	}
	defer exec.Finalize()
	var panels []*gonumplot.Plot
	for _, c := range []struct {
		title       string
		plus, minus float64
	}{
		{"(a)  -β- < 0 < β+", 1, 0.5}, {"(b)  0 < -β- < β+", 1.5, -0.5},
		{"(c)  -β- < β+ < 0", -0.5, 1.5}, {"(d)  β+ < 0 < -β-: improper", -0.8, -0.8},
	} {
		above, below, err := exec.Call2([]float64{-3, -c.minus, c.plus, 3}, c.plus, c.minus)
		if err != nil {
			return plot.Figure{}, fmt.Errorf("computing the shrinkage: %w", err)
		}
		p := plot.Plot(c.title, "v", "")
		p.Y.Min, p.Y.Max = -3.5, 3.5
		// v + β⁻ below −β⁻, v − β⁺ above β⁺, and 0 between.
		upper, lower := plot.Values(above), plot.Values(below)
		branches := []plotter.XYs{{{X: -3, Y: lower[0]}, {X: -c.minus, Y: lower[1]}}, {{X: c.plus, Y: upper[2]}, {X: 3, Y: upper[3]}}}
		if -c.minus < c.plus {
			branches = append(branches, plotter.XYs{{X: -c.minus}, {X: c.plus}})
		}
		for _, points := range branches {
			if _, err := plot.AddLine(p, points, plot.Hue(0), 2.5); err != nil {
				return plot.Figure{}, fmt.Errorf("drawing the shrinkage: %w", err)
			}
		}
		panels = append(panels, p)
	}
	return plot.Row(820, 230, panels...), nil
}

// Reconstructions draws the paper's Fig. 4 for the first decoded image: the image, and then a row for each level with the reconstructions by both
// decoders, each at its own contrast, and the decoded class biases, each less the mean over the hypotheses. These share one scale in a level;
// grey is 0.
func Reconstructions(title string, classes []string, input *tensors.Tensor, levels []Level) plot.Figure {
	dims := input.Shape().Dimensions[1:]
	return drawLevels(title, slices.Concat([]string{linear, rectified}, classes), input, levels, func(l Level) []plot.Tile {
		tiles := append(signed(dims, imageAt(l.Reconstructions, 0)), signed(dims, imageAt(l.RectifiedReconstructions, 0))...)
		if l.Biases != nil {
			byClass, _ := deviations(l.Biases, 0)
			tiles = append(tiles, signed(dims, byClass...)...)
		}
		return tiles
	})
}

// Hypotheses draws the first decoded image under each class hypothesis: a row for each level, with the decoded features of a code
// that does not depend on the hypothesis in the first column, and those of a class-specific code in the others. Features of a level
// share one scale; grey is 0.
func Hypotheses(title string, classes []string, input *tensors.Tensor, levels []Level) plot.Figure {
	dims := input.Shape().Dimensions[1:]
	return drawLevels(title, slices.Concat([]string{"decoded"}, classes), input, levels, func(l Level) []plot.Tile {
		if l.Features.Rank() == input.Rank() {
			return signed(dims, imageAt(l.Features, 0))
		}
		return append(make([]plot.Tile, 1), signed(dims, byHypothesis(l.Features, 0)...)...)
	})
}

// drawLevels draws the first image, and below it a row of tiles for each level, with captions over the columns.
func drawLevels(title string, captions []string, input *tensors.Tensor, levels []Level, tilesOf func(Level) []plot.Tile) plot.Figure {
	grid := plot.Grid{Title: title, Columns: len(captions), Side: side(input)}
	addRow(&grid, "image", nil, signed(input.Shape().Dimensions[1:], imageAt(input, 0)))
	for _, level := range levels {
		addRow(&grid, level.Block, captions, tilesOf(level))
		captions = nil
	}
	return grid.Draw()
}

// Residuals draws one panel of the paper's Fig. 5: images in the rows, hypotheses in the columns, and in each cell the residual
// of the decoded features from their mean over hypotheses, divided by the root mean square of that mean. The image's own
// class has a frame. All cells share one scale, which clips the largest half percent. Images must have one channel.
func Residuals(title string, classes []string, images *tensors.Tensor, labels []uint8, level Level) plot.Figure {
	dims := images.Shape().Dimensions
	residuals := make([][][]float64, dims[0])
	var magnitudes []float64
	for i := range residuals {
		var mean []float64
		residuals[i], mean = deviations(level.Features, i)
		rms := floats.Norm(mean, 2) / math.Sqrt(float64(len(mean)))
		for _, residual := range residuals[i] {
			if rms > 0 {
				floats.Scale(1/rms, residual)
			}
			for _, value := range residual {
				magnitudes = append(magnitudes, math.Abs(value))
			}
		}
	}
	slices.Sort(magnitudes)
	limit := stat.Quantile(0.995, stat.Empirical, magnitudes, nil)
	captions := slices.Concat([]string{"image"}, classes)
	scale := [3]string{fmt.Sprintf("%+.2g", -limit), "0", fmt.Sprintf("%+.2g", limit)}
	grid := plot.Grid{Title: title, Columns: len(captions), Side: side(images), Scale: scale}
	for i := range dims[0] {
		ink := imageAt(images, i)
		tiles := []plot.Tile{{Picture: plot.Photo(ink, dims[1], dims[2], 1, floats.Max(ink), 0)}}
		for class, residual := range residuals[i] {
			tiles = append(tiles, plot.Tile{Picture: plot.Map(residual, dims[1], dims[2], limit), Strong: class == int(labels[i])})
		}
		addRow(&grid, classes[labels[i]], captions, tiles)
		captions = nil
	}
	return grid.Draw()
}

// Dictionaries draws the first block's filters [k, k, C, K] before and after training, each at its own contrast; grey is 0.
func Dictionaries(title string, before, after *tensors.Tensor) plot.Figure {
	dims := before.Shape().Dimensions
	grid := plot.Grid{Title: title, Columns: min(dims[3], 16), Side: 30}
	for i, dictionary := range []*tensors.Tensor{before, after} {
		values, tiles := plot.Values(dictionary), []plot.Tile(nil)
		for k := range dims[3] {
			var filter []float64
			for at := k; at < len(values); at += dims[3] {
				filter = append(filter, values[at])
			}
			tiles = append(tiles, signed(dims[:3], filter)...)
		}
		for row := range slices.Chunk(tiles, grid.Columns) {
			addRow(&grid, []string{"before", "after"}[i], nil, row)
		}
	}
	return grid.Draw()
}

// addRow adds a row of tiles, with captions, to a grid, and empty cells up to its end.
func addRow(grid *plot.Grid, name string, captions []string, tiles []plot.Tile) {
	row := make([]plot.Tile, grid.Columns)
	copy(row, tiles)
	for i, caption := range captions {
		row[i].Caption = caption
	}
	grid.Rows, grid.Tiles = append(grid.Rows, name), append(grid.Tiles, row...)
}

// signed renders signed pictures [H, W, C] in one scale: grey is 0, and the largest magnitude black or white.
func signed(dims []int, pictures ...[]float64) (tiles []plot.Tile) {
	limit := floats.Norm(slices.Concat(pictures...), math.Inf(1))
	for _, values := range pictures {
		tiles = append(tiles, plot.Tile{Picture: plot.Photo(values, dims[0], dims[1], dims[2], -limit, limit)})
	}
	return tiles
}

// deviations returns the pictures of image i [N, Y, H, W, C] less their mean over the hypotheses, and the mean.
func deviations(pictures *tensors.Tensor, i int) (deviations [][]float64, mean []float64) {
	deviations = byHypothesis(pictures, i)
	mean = make([]float64, len(deviations[0]))
	for _, picture := range deviations {
		floats.AddScaled(mean, 1/float64(len(deviations)), picture)
	}
	for _, picture := range deviations {
		floats.Sub(picture, mean)
	}
	return deviations, mean
}

// byHypothesis returns the pictures of image i [N, Y, H, W, C].
func byHypothesis(pictures *tensors.Tensor, i int) [][]float64 {
	all := imageAt(pictures, i)
	return slices.Collect(slices.Chunk(all, len(all)/pictures.Shape().Dim(1)))
}

// imageAt returns the values of image i [N, ...].
func imageAt(pictures *tensors.Tensor, i int) []float64 {
	size := pictures.Shape().Size() / pictures.Shape().Dim(0)
	return plot.Values(pictures)[i*size : (i+1)*size]
}

// side returns the drawn side of images [N, H, W, C] in points: at 144 pixels an inch, three for each of their pixels.
func side(images *tensors.Tensor) vg.Length { return 1.5 * vg.Length(images.Shape().Dim(1)) }
