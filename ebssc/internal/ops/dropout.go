package ops

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Dropout zeroes each entry of x independently with probability rate, 0 < rate < 1, and divides the
// others by 1−rate. Entries along the shared axes are dropped together. key holds two random uint32
// numbers, [2]; the same key and shape drop the same entries.
//
// It replaces layers.Dropout, whose random numbers take longer on a CPU than the next convolution:
// XLA generates them one at a time. Here a hash of entry i and the key decides. XLA fuses the hash
// with the other operations on x, vectorises it, and recomputes it in the backward pass instead of
// storing the mask. The hash is the 32-bit mixing function "lowbias32"
// (github.com/skeeto/hash-prospector), once for each number of the key.
func Dropout(x, key *Node, rate float64, shared ...int) *Node {
	key.AssertDims(2)
	g := x.Graph()
	mask := shapes.Make(dtypes.Uint32, x.Shape().Dimensions...)
	for _, axis := range shared {
		mask.Dimensions[axis] = 1
	}
	h := Reshape(Iota(g, shapes.Make(dtypes.Uint32, mask.Size()), 0), mask.Dimensions...)
	keys := Unstack(key, 0)
	h = mix(Add(h, keys[0]))
	h = mix(BitwiseXor(h, keys[1]))
	kept := LessThan(h, Const(g, uint32(math.Round((1-rate)*math.MaxUint32))))
	kept = BroadcastToDims(kept, x.Shape().Dimensions...)
	return Where(kept, DivScalar(x, 1-rate), ZerosLike(x))
}

// mix returns a bijective hash of each uint32 of x.
func mix(x *Node) *Node {
	g := x.Graph()
	for _, round := range []struct{ shift, factor uint32 }{{16, 0x7feb352d}, {15, 0x846ca68b}} {
		x = BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, round.shift))
		x = Mul(x, Const(g, round.factor))
	}
	return BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, 16))
}
