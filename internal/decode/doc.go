// Package decode visualises trained networks as Sec. 4.2 of the paper: it decodes their codes and class biases to images,
// measures the fidelity of reconstructions and the effect of the class hypothesis, and draws the paper's figures.
package decode
