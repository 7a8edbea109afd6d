// Package tensor reads tensors: their numbers, and single images of a batch.
package tensor

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
)

// Values returns the numbers of a float32 or float64 tensor in row-major order.
func Values(tensor *tensors.Tensor) []float64 {
	if tensor.DType() == dtypes.Float64 {
		return tensors.MustCopyFlatData[float64](tensor)
	}
	var values []float64
	for _, value := range tensors.MustCopyFlatData[float32](tensor) {
		values = append(values, float64(value))
	}
	return values
}

// Pick returns the images of those numbers from images float32 [N, H, W, C], in the order of the
// numbers.
func Pick(images *tensors.Tensor, numbers ...int) *tensors.Tensor {
	all, shape := tensors.MustCopyFlatData[float32](images), images.Shape()
	size := shape.Size() / shape.Dim(0)
	var picked []float32
	for _, number := range numbers {
		picked = append(picked, all[number*size:][:size]...)
	}
	return tensors.FromFlatDataAndDimensions(picked, append([]int{len(numbers)},
		shape.Dimensions[1:]...)...)
}
