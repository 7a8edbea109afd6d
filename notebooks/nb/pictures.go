package nb

import (
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
)

// Photo and Filters are the tiles of decodings: of an image [1, H, W, C], and of a dictionary [k, k, C, K].
var Photo, Filters = decode.Photo, decode.Filters

// Around is a tile of numbers [height, width, channels] around 0, which is grey; limit is white and −limit black.
func Around(caption string, numbers []float64, height, width, channels int, limit float64) plot.Tile {
	return plot.Tile{Caption: caption, Picture: plot.Photo(numbers, height, width, channels, -limit, limit)}
}
