package ops

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// MaxPool returns the largest value of each window×window window of x [N, H, W, C], `stride` apart, with pad positions
// of −∞ on each side: [N, H', W', C] with H' = (H + 2·pad − window)/stride + 1, rounded down.
func (k Kernels) MaxPool(x *Node, window, stride, pad int) *Node {
	return MaxPool(x).Window(window).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}

// AvgPool is [Kernels.MaxPool] with the mean in place of the largest value. The mean runs over the positions of the
// window that lie in the image: the padding does not count.
func (k Kernels) AvgPool(x *Node, window, stride, pad int) *Node {
	return MeanPool(x).Window(window).Strides(stride).PaddingPerDim([][2]int{{pad, pad}, {pad, pad}}).Done()
}
