// Package nb has what the cells of the notebooks share and readers need not see: text and pictures in a cell's output, tensors that are kept
// between cells, and networks that are found or trained with [Lab]. The mathematics stands in the cells.
//
// Cells are a module of their own, "ebsscgo/cells", whose name below this module's lets them import internal/.
//
// A cell tells a story, which the handling of errors would interrupt. So functions here end the cell on an error, with one line
// that says what to do.
//
// Cells run in the folder of their notebook, so [Results] is a relative path. $EBSSC_PROFILE chooses the scale at which the
// notebooks compute, "quick" by default.
package nb
