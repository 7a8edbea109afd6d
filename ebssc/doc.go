// Package ebssc is the model of "Energy-Based Spherical Sparse Coding" (Kong & Fowlkes) as GoMLX
// graphs.
//
// All the maths of the paper lives here. Read the files in this order:
//
//	shrink.go    asymmetric shrinkage and the split code   Eqs. (asym_shrink), (ebm_direction)
//	code.go      projection onto the sphere, energy        Eqs. (ebm_projection), (energy_fn2)
//	block.go     one coding block, parts of which each row of the table switches off; signals
//	infer.go     a stack of blocks: the bottom-up pass, sweeps of coordinate ascent   Sec. 3.1.1
//	network.go   networks as data: a list of blocks and pools, and the forward pass
//	classify.go  linear classifier (LC), energy-based classifier (EBC), softmax of scores
//	learn.go     the penalty of Eq. (train_obj2), step scales, thresholds kept from below 0
//	initial.go   initial dictionaries and thresholds
//	decode.go    codes and class biases decoded to images, by transposed convolutions   Sec. 4.2
//	count.go     counts of parameters and products
//
// # Notation
//
//	symbol  here        paper                                              shape
//	x       x, below    input signal, or the split code of the block below [N, H, W, C]
//	d       dictionary  filter bank, d ⋆ x is a cross-correlation          [k, k, C, K]
//	b       offset      central offset of Eq. (class_bias2)                [K]
//	ŵ⁺, ŵ⁻  thresholds  Eq. (class_bias2); both halves in one, never < 0   scalar or [Y, H, W, 2K]
//	u       drive       d ⋆ x + b; split, of 2K channels, unless rectified [N, (Y,) H, W, 2K]
//	z⁺, z⁻  split code  ReLU(u − ŵ⁺), ReLU(−u − ŵ⁻), as magnitudes         [N, (Y,) H, W, 2K]
//	z̃       z⁺ − z⁻     asymmetric shrinkage of u, Eq. (ebm_direction)
//	z*      code        z̃ / ‖z̃‖₂, Eq. (ebm_projection), kept split
//	E       energy      max over ‖z‖ ≤ 1 of E'(x, y, z) = ‖z̃‖₂ (App. B)    [N, (Y)]
//	r       r           d_{ℓ+1} * z_{ℓ+1}, the block above's top-down term [N, (Y), H, W, 2K]
//	T       Sweeps      number of sweeps over all codes after the bottom-up pass
//	y       hypothesis  hypothesised class label                           Y classes
//	α       alpha       regularisation of Eq. (train_obj2)
//
// H and W are those of the signal in question. The norm runs over all positions and channels of one
// image (and one class hypothesis), the paper's "global normalization". A code that is zero
// everywhere stays zero, has energy 0 and a finite gradient.
//
// The paper contradicts itself in a few signs. docs/paper.md has the readings that are used here.
package ebssc
