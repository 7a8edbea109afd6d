// Package experiments declares what the paper measured and at which scales we measure it again. An experiment is data:
// a row of the table says which codings its blocks use, a profile says how large everything is, and a Run, which joins
// the two with a seed, says everything that decides a result.
//
// To add a row, append a Row to Table. Nothing else is needed: parameter counts, training, resuming
// and reports follow from the declaration.
package experiments
