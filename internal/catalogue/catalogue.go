// Package catalogue names everything that is declared: the paper's studies, and those that change
// their rows. Packages experiments and ablations declare; all others find here.
package catalogue

import (
	"slices"

	"ebsscgo/ablations"
	"ebsscgo/experiments"
)

// All holds all studies in the order in which they run and are reported.
var All = slices.Concat(experiments.Studies, ablations.Studies)
