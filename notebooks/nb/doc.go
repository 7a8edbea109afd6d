// Package nb has what the cells of the notebooks share and readers need not see: text, tables and
// pictures in a cell's output, tensors that are kept between cells, and networks that are found or
// trained. The mathematics stands in the cells.
//
// Cells are a module of their own, "ebsscgo/cells", whose name below this module's lets them import
// internal/. They run in the folder of their notebook. $EBSSC_PROFILE chooses the scale at which
// they compute. By default they train at "quick", and take networks of the largest scale.
//
// A cell tells a story, which the handling of errors would interrupt. So functions here end the
// cell on an error, with one line that says what to do.
package nb
