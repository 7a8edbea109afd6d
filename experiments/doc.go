// Package experiments declares what the paper measured and at which scales we measure it again. An experiment is data:
// it says which codings the blocks of its network use. A study says which experiments are reported together and what the paper
// claims of them, a profile how large everything is. A Run joins them with a seed and describes all that decides a result.
//
// To add a row, append an Experiment to Table. Nothing else is needed: parameter counts, training, resuming
// and reports follow from the declaration.
package experiments
