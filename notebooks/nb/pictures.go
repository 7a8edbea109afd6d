package nb

import "ebsscgo/internal/plot"

// Around is a tile of numbers [height, width, channels] around 0, which is grey; limit is white and −limit black.
func Around(caption string, numbers []float64, height, width, channels int, limit float64) plot.Tile {
	return plot.Tile{Caption: caption, Picture: plot.Photo(numbers, height, width, channels, -limit, limit)}
}
