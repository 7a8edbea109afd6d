// Package nb is what the notebooks share: text and pictures in a cell's output, a place to compute, images, and
// models that are there or trained on the spot.
//
// A cell is a program of its own, and its story should not be interrupted by the handling of errors: where functions
// elsewhere return an error, those here that touch the world end the cell, with one line that says what to do.
//
// Cells run in the folder of their notebook, so Results is a relative path. $EBSSC_PROFILE chooses the scale at which the
// notebooks compute; it is "quick" if not set.
package nb
