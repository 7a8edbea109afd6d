package decode

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/vg"

	"ebsscgo/internal/plot"
	"ebsscgo/internal/tensor"
)

// Reconstructions draws the paper's Fig. 4 for an image [1, H, W, C] as it is and as the network
// sees it: below these a row for each level with the reconstructions by both decoders, each at its
// own contrast, and the decoded class biases, each less the mean over the hypotheses. These share
// one scale in a level; grey is 0.
func Reconstructions(title string, classes []string, original, input *tensors.Tensor,
	levels []BlockPictures) plot.Figure {
	return drawLevels(title, slices.Concat([]string{"linear", "rectified"}, classes), original, input,
		levels, func(l BlockPictures) ([][]float64, [][][]float64) {
			return [][]float64{l.Linear[0], l.Rectified[0]}, l.Biases
		})
}

// Hypotheses draws an image [1, H, W, C], as it is and as the network sees it, decoded under each
// class hypothesis: a row for each level, with the mean of the decoded features over the
// hypotheses, and their differences from it. These share one scale in a level; grey is 0. A code
// that does not depend on the hypothesis has no differences.
func Hypotheses(title string, classes []string, original, input *tensors.Tensor,
	levels []BlockPictures) plot.Figure {
	return drawLevels(title, slices.Concat([]string{"mean"}, classes), original, input, levels,
		func(l BlockPictures) ([][]float64, [][][]float64) {
			_, mean := deviations(l.Features[0])
			return [][]float64{mean}, l.Features
		})
}

// drawLevels draws an image, and below it a row for each level, with captions over the columns:
// pictures at a contrast of their own, and then those of the hypotheses less their mean, at one
// contrast of all.
func drawLevels(title string, captions []string, original, input *tensors.Tensor,
	levels []BlockPictures,
	picturesOf func(BlockPictures) (alone [][]float64, byHypothesis [][][]float64)) plot.Figure {
	dims, seen := input.Shape().Dimensions[1:], tensor.Values(input)
	grid := plot.Grid{Title: title, Columns: len(captions), Side: 1.5 * vg.Length(dims[0])}
	first, names := []plot.Tile{Photo("", original)}, []string{"original"}
	if !slices.Equal(tensor.Values(original), seen) {
		first, names = append(first, signed(dims, seen)...), append(names, "network input")
	}
	addRow(&grid, "image", names, first)
	for _, level := range levels {
		alone, byHypothesis := picturesOf(level)
		var tiles []plot.Tile
		for _, picture := range alone {
			tiles = append(tiles, signed(dims, picture)...)
		}
		if byHypothesis != nil && len(byHypothesis[0]) > 1 {
			differences, _ := deviations(byHypothesis[0])
			tiles = append(tiles, signed(dims, differences...)...)
		}
		addRow(&grid, level.Block, captions, tiles)
		captions = nil
	}
	return grid.Draw()
}

// Residuals draws one panel of the paper's Fig. 5: images as they are [N, H, W, 1] in the rows,
// hypotheses in the columns, and in each cell the residual of the decoded features from their mean
// over hypotheses, divided by the root mean square of that mean. The image's own class has a frame.
// All cells share one scale, which clips the largest half percent.
func Residuals(title string, classes []string, originals *tensors.Tensor, labels []uint16,
	level BlockPictures) plot.Figure {
	dims := originals.Shape().Dimensions[1:]
	var residuals [][][]float64
	var magnitudes []float64
	for _, pictures := range level.Features {
		differences, mean := deviations(pictures)
		rms := floats.Norm(mean, 2) / math.Sqrt(float64(len(mean)))
		for _, residual := range differences {
			floats.Scale(1/max(rms, 1e-30), residual) // those of a mean of 0 are 0
			for _, value := range residual {
				magnitudes = append(magnitudes, math.Abs(value))
			}
		}
		residuals = append(residuals, differences)
	}
	slices.Sort(magnitudes)
	limit := stat.Quantile(0.995, stat.Empirical, magnitudes, nil)
	captions := slices.Concat([]string{"original"}, classes)
	grid := plot.Grid{Title: title, Columns: len(captions), Side: 1.5 * vg.Length(dims[0]),
		Scale: limit, Framed: "the image's own class"}
	for i, label := range labels {
		tiles := []plot.Tile{Photo("", tensor.Pick(originals, i))}
		for class, residual := range residuals[i] {
			tiles = append(tiles, plot.Tile{Picture: plot.Map(residual, dims[0], dims[1], limit),
				Strong: class == int(label)})
		}
		addRow(&grid, classes[label], captions, tiles)
		captions = nil
	}
	return grid.Draw()
}

// Dictionaries draws the first block's filters [k, k, C, K] before and after training, each at its
// own contrast; grey is 0.
func Dictionaries(title string, before, after *tensors.Tensor) plot.Figure {
	grid := plot.Grid{Title: title, Columns: min(before.Shape().Dim(3), 16), Side: 30}
	for i, dictionary := range []*tensors.Tensor{before, after} {
		for row := range slices.Chunk(Filters(dictionary), grid.Columns) {
			addRow(&grid, []string{"before", "after"}[i], nil, row)
		}
	}
	return grid.Draw()
}

// Filters are tiles of a dictionary [k, k, C, K], each at its own contrast.
func Filters(dictionary *tensors.Tensor) (tiles []plot.Tile) {
	dims, all := dictionary.Shape().Dimensions, tensor.Values(dictionary)
	for k := range dims[3] {
		var filter []float64
		for i := k; i < len(all); i += dims[3] {
			filter = append(filter, all[i])
		}
		tiles = append(tiles, signed(dims[:3], filter)...)
	}
	return tiles
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

// signed renders signed pictures [H, W, C] in one scale: grey is 0, and the largest magnitude black
// or white.
func signed(dims []int, pictures ...[]float64) (tiles []plot.Tile) {
	limit := floats.Norm(slices.Concat(pictures...), math.Inf(1))
	for _, values := range pictures {
		tiles = append(tiles, plot.Tile{Picture: plot.Photo(values, dims[0], dims[1], dims[2], -limit,
			limit)})
	}
	return tiles
}

// Photo is a tile of an image [1, H, W, C] as it is, with pixels from 0 to 1: a digit, of one
// channel, as dark ink.
func Photo(caption string, image *tensors.Tensor) plot.Tile {
	dims, low := image.Shape().Dimensions, 0.0
	if dims[3] == 1 {
		low = 1
	}
	return plot.Tile{Caption: caption, Picture: plot.Photo(tensor.Values(image), dims[1], dims[2],
		dims[3], low, 1-low)}
}

// deviations returns the pictures of an image less their mean over the hypotheses, and the mean.
func deviations(pictures [][]float64) (deviations [][]float64, mean []float64) {
	mean = make([]float64, len(pictures[0]))
	for _, picture := range pictures {
		floats.AddScaled(mean, 1/float64(len(pictures)), picture)
	}
	for _, picture := range pictures {
		deviations = append(deviations, floats.SubTo(make([]float64, len(mean)), picture, mean))
	}
	return deviations, mean
}
