// Package decode looks into trained networks as Sec. 4.2 of the paper does: it carries their codes and class
// thresholds down to images, measures how faithful these are and how much a class hypothesis changes them, and draws the
// paper's figures.
package decode
