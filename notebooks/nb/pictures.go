package nb

import (
	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/internal/plot"
)

// Around is a tile of numbers [height, width, channels] around 0, which is grey; limit is white and −limit black.
func Around(caption string, numbers []float64, height, width, channels int, limit float64) plot.Tile {
	return plot.Tile{Caption: caption, Picture: plot.Photo(numbers, height, width, channels, -limit, limit)}
}

// Photo is a tile of an image [1, height, width, channels] between 0 and 1; a grey one is dark ink.
func Photo(caption string, image *tensors.Tensor) plot.Tile {
	dims, low := image.Shape().Dimensions, 0.0
	if dims[3] == 1 {
		low = 1
	}
	return plot.Tile{Caption: caption, Picture: plot.Photo(plot.Values(image), dims[1], dims[2], dims[3], low, 1-low)}
}

// Filters are tiles of a dictionary [height, width, channels, K], each at its own contrast.
func Filters(dictionary *tensors.Tensor) (tiles []plot.Tile) {
	dims, all := dictionary.Shape().Dimensions, plot.Values(dictionary)
	for k := range dims[3] {
		var filter []float64
		for i := k; i < len(all); i += dims[3] {
			filter = append(filter, all[i])
		}
		tiles = append(tiles, Around("", filter, dims[0], dims[1], dims[2], Peak(filter)))
	}
	return tiles
}
