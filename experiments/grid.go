package experiments

import "slices"

// Grid lists settings, and the values of each, among which every experiment of a study chooses: the combination with the smallest
// error on held-out training images. One grid and one rule for all, so that settings chosen for one experiment handicap no other.
type Grid []Axis

// Axis is a setting with its values.
type Axis struct {
	Setting string
	Values  []any
}

// Points are all combinations of the values; the last axis varies fastest. An empty grid has one point without settings.
func (g Grid) Points() []Settings {
	points := []Settings{{}}
	for _, axis := range g {
		var finer []Settings
		for _, point := range points {
			for _, value := range axis.Values {
				finer = append(finer, point.With(Settings{axis.Setting: value}))
			}
		}
		points = finer
	}
	return points
}

// Has says whether a setting is one of the grid's.
func (g Grid) Has(setting string) bool {
	return slices.ContainsFunc(g, func(axis Axis) bool { return axis.Setting == setting })
}
