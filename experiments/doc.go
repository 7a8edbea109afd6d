// Package experiments declares what the paper measured and at which scales we measure it again. An experiment is data:
// it says which codings the blocks of its network use; a study, which experiments are reported together; a profile, how
// large everything is; and a Run, which joins them with a seed, says everything that decides a result.
//
// To add a row, append an Experiment to Table. Nothing else is needed: parameter counts, training, resuming
// and reports follow from the declaration.
package experiments
