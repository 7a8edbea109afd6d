// Package stats holds the statistics of comparisons: intervals and tests over seeds, over test images, and of many comparisons at once.
//
//	estimate.go   means and differences over seeds: Student's and Welch's t, the pooled deviation, how many seeds decide
//	interval.go   rates over images: Wilson, Newcombe, Bonett and Price
//	mcnemar.go    McNemar's exact test of models on the same images
//	holm.go       Holm's correction for several comparisons
//
// Tests compare them with published tables, SciPy and simulations.
package stats
