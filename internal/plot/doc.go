// Package plot turns numbers into figures: line charts ([Chart]), dot plots ([Dots]) and grids of images ([Grid]). A [Figure]
// renders as SVG and PNG.
package plot
