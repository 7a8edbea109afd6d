// Package catalogue lists all studies, those of package experiments and those of ablations, so that
// no other package has to import both.
package catalogue

import (
	"slices"

	"ebsscgo/ablations"
	"ebsscgo/experiments"
)

// All holds all studies in the order in which they run and are reported.
var All = slices.Concat(experiments.Studies, ablations.Studies)
