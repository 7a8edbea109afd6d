// Package nb is the one door through which notebooks' cells reach internal/: cells are a module of their own, and import ebssc,
// experiments, ablations and this package. door.go names what they use of the packages behind it; the rest shows text and pictures
// in a cell's output, keeps tensors between cells, and trains and finds networks with [Lab]. What a reader should see, the
// mathematics, stands in the cells.
//
// A cell tells a story, which the handling of errors would interrupt. So functions here end the cell on an error, with one line
// that says what to do.
//
// Cells run in the folder of their notebook, so Results is a relative path. $EBSSC_PROFILE chooses the scale at which the
// notebooks compute, "quick" by default.
package nb
