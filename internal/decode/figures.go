package decode

import (
	"fmt"
	"image"
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
	drive := floats.Span(make([]float64, 601), -3, 3)
	var panels []*gonumplot.Plot
	for _, c := range []struct {
		title       string
		plus, minus float64
	}{
		{"(a)  -β- < 0 < β+", 1, 0.5}, {"(b)  0 < -β- < β+", 1.5, -0.5},
		{"(c)  -β- < β+ < 0", -0.5, 1.5}, {"(d)  β+ < 0 < -β-: improper", -0.8, -0.8},
	} {
		above, below, err := exec.Call2(drive, c.plus, c.minus)
		if err != nil {
			return plot.Figure{}, fmt.Errorf("computing the shrinkage: %w", err)
		}
		p, err := shrinkagePanel(c.title, drive, plot.Values(above), plot.Values(below), c.plus, c.minus)
		if err != nil {
			return plot.Figure{}, fmt.Errorf("drawing the shrinkage: %w", err)
		}
		panels = append(panels, p)
	}
	return plot.Row(820, 230, panels...), nil
}

// shrinkagePanel draws v − β⁺ above β⁺, v + β⁻ below −β⁻, and 0 between; where two cases hold, in another colour.
func shrinkagePanel(title string, drive, above, below []float64, plus, minus float64) (*gonumplot.Plot, error) {
	p := plot.Plot(title, "v", "")
	p.Y.Min, p.Y.Max = -3.5, 3.5
	if -minus > plus {
		p.Title.TextStyle.Color = plot.Hue(1)
	}
	both := func(v float64) bool { return v > plus && v < -minus }
	for _, part := range []struct {
		values []float64
		holds  func(v float64) bool
		hue    int
	}{
		{above, func(v float64) bool { return v > plus }, 0},
		{below, func(v float64) bool { return v < -minus }, 0},
		{make([]float64, len(drive)), func(v float64) bool { return -minus <= v && v <= plus }, 0},
		{above, both, 1},
		{below, both, 1},
	} {
		var points plotter.XYs
		for i, v := range drive {
			if part.holds(v) {
				points = append(points, plotter.XY{X: v, Y: part.values[i]})
			}
		}
		if len(points) == 0 {
			continue
		}
		if err := plot.AddLine(p, points, plot.Hue(part.hue), 2.5); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Reconstructions draws the paper's Fig. 4 for the first decoded image: a row for each level, with its reconstruction in the
// first column and its decoded class biases in the others. Biases of a level share one scale; grey is 0.
func Reconstructions(title string, classes []string, input *tensors.Tensor, levels []Level) plot.Figure {
	return drawLevels(title, classes, input, levels, func(l Level) (shared, byClass *tensors.Tensor) { return l.Reconstructions, l.Biases })
}

// Hypotheses draws the first decoded image under each class hypothesis: a row for each level, with the decoded features of a code
// that does not depend on the hypothesis in the first column, and those of a class-specific code in the others. Features of a level
// share one scale; grey is 0.
func Hypotheses(title string, classes []string, input *tensors.Tensor, levels []Level) plot.Figure {
	return drawLevels(title, classes, input, levels, func(l Level) (shared, byClass *tensors.Tensor) {
		if l.Features.Rank() == input.Rank() {
			return l.Features, nil
		}
		return nil, l.Features
	})
}

// drawLevels draws a row for each level: a picture [N, H, W, C] that all hypotheses share, and one for each [N, Y, H, W, C], for the
// first image. A level may lack either.
func drawLevels(title string, classes []string, input *tensors.Tensor, levels []Level, of func(Level) (shared, byClass *tensors.Tensor)) plot.Figure {
	grid := plot.Grid{Title: title, Columns: 1 + len(classes), Side: side(input), Rows: []string{"image"}}
	grid.Tiles = append(grid.Tiles, plot.Tile{Caption: "decoded", Picture: signed(input, []int{0}, 0)})
	for _, class := range classes {
		grid.Tiles = append(grid.Tiles, plot.Tile{Caption: class})
	}
	for _, level := range levels {
		grid.Rows = append(grid.Rows, level.Block)
		shared, byClass := of(level)
		var tile plot.Tile
		if shared != nil {
			tile.Picture = signed(shared, []int{0}, 0)
		}
		grid.Tiles = append(grid.Tiles, tile)
		limit := 0.0
		if byClass != nil {
			for class := range classes {
				limit = math.Max(limit, contrast(imageAt(byClass, 0, class)))
			}
		}
		for class := range classes {
			var tile plot.Tile
			if byClass != nil {
				tile.Picture = signed(byClass, []int{0, class}, limit)
			}
			grid.Tiles = append(grid.Tiles, tile)
		}
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
		residuals[i] = residualsOf(level.Features, i)
		for _, residual := range residuals[i] {
			for _, value := range residual {
				magnitudes = append(magnitudes, math.Abs(value))
			}
		}
	}
	slices.Sort(magnitudes)
	limit := stat.Quantile(0.995, stat.Empirical, magnitudes, nil)
	grid := plot.Grid{Title: title, Columns: 1 + len(classes), Side: side(images), Scale: [3]string{fmt.Sprintf("%+.2g", -limit), "0", fmt.Sprintf("%+.2g", limit)}}
	for i := range dims[0] {
		ink := imageAt(images, i)
		tile := plot.Tile{Picture: plot.Photo(ink, dims[1], dims[2], 1, floats.Max(ink), 0)}
		if i == 0 {
			tile.Caption = "image"
		}
		grid.Tiles = append(grid.Tiles, tile)
		for class, name := range classes {
			tile := plot.Tile{Picture: plot.Map(residuals[i][class], dims[1], dims[2], limit), Strong: class == int(labels[i])}
			if i == 0 {
				tile.Caption = name
			}
			grid.Tiles = append(grid.Tiles, tile)
		}
	}
	return grid.Draw()
}

// residualsOf returns, for each hypothesis, the residual of the decoded features [N, Y, H, W, 1] of image i.
func residualsOf(features *tensors.Tensor, i int) (residuals [][]float64) {
	classes := features.Shape().Dim(1)
	mean := make([]float64, features.Shape().Size()/features.Shape().Dim(0)/classes)
	for class := range classes {
		residuals = append(residuals, imageAt(features, i, class))
		floats.AddScaled(mean, 1/float64(classes), residuals[class])
	}
	rms := floats.Norm(mean, 2) / math.Sqrt(float64(len(mean)))
	for _, residual := range residuals {
		floats.Sub(residual, mean)
		if rms > 0 {
			floats.Scale(1/rms, residual)
		}
	}
	return residuals
}

// Dictionaries draws the first block's filters [k, k, C, K] before and after training, each at its own contrast; grey is 0.
func Dictionaries(title string, before, after *tensors.Tensor) plot.Figure {
	dims := before.Shape().Dimensions
	columns := min(dims[3], 16)
	grid := plot.Grid{Title: title, Columns: columns, Side: 30}
	for i, dictionary := range []*tensors.Tensor{before, after} {
		for k := range dims[3] {
			if k%columns == 0 {
				grid.Rows = append(grid.Rows, []string{"before", "after"}[i])
			}
			weights := filter(dictionary, k)
			limit := contrast(weights)
			grid.Tiles = append(grid.Tiles, plot.Tile{Picture: plot.Photo(weights, dims[0], dims[1], dims[2], -limit, limit)})
		}
		for len(grid.Tiles)%columns != 0 {
			grid.Tiles = append(grid.Tiles, plot.Tile{})
		}
	}
	return grid.Draw()
}

// signed renders the signed image at an index of the leading axes: grey is 0, black and white are ∓limit; limit 0 stands for
// the image's own contrast.
func signed(all *tensors.Tensor, index []int, limit float64) (picture image.Image) {
	values := imageAt(all, index...)
	if limit == 0 {
		limit = contrast(values)
	}
	dims := all.Shape().Dimensions[len(index):]
	return plot.Photo(values, dims[0], dims[1], dims[2], -limit, limit)
}

// side returns the drawn side of images [N, H, W, C] in points: at 144 pixels an inch, three for each of their pixels.
func side(images *tensors.Tensor) vg.Length { return 1.5 * vg.Length(images.Shape().Dim(1)) }

// imageAt returns the values of a tensor at an index of its leading axes.
func imageAt(all *tensors.Tensor, index ...int) []float64 {
	start, size := 0, all.Shape().Size()
	for axis, i := range index {
		size /= all.Shape().Dim(axis)
		start += i * size
	}
	return plot.Values(all)[start : start+size : start+size]
}

// filter returns filter k of a dictionary [k, k, C, K].
func filter(dictionary *tensors.Tensor, k int) (weights []float64) {
	filters := dictionary.Shape().Dim(-1)
	for i, weight := range plot.Values(dictionary) {
		if i%filters == k {
			weights = append(weights, weight)
		}
	}
	return weights
}

// contrast returns the largest magnitude of an image's values.
func contrast(values []float64) float64 { return floats.Norm(values, math.Inf(1)) }
