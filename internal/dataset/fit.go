package dataset

import (
	"context"
	"errors"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"
)

// fit computes the mean and the matrix W of the whitening. All is float64: a bias of 0.1 beside eigenvalues of several
// hundred needs more than products of float32, which a GPU may round to TF32.
//
// With the eigenvectors u of the covariance and their eigenvalues λ,
//
//	W = ε^(-1/2) I − Σ_u λ g(λ) u uᵀ,   g(λ) = (ε^(-1/2) − (λ + ε)^(-1/2)) / λ
//
// so directions in which the images do not differ, λ = 0, need no eigenvector. The factor B [K, D] has
// W = ε^(-1/2) I − BᵀB.
func fit(ctx context.Context, backend compute.Backend, train Images, bias float64) (*Whitening, error) {
	factorize := factorCovariance
	// For fewer images than values, N < D, the Gram matrix is the smaller one.
	if train.Len() < train.Size() {
		factorize = factorGram
	}
	mean, factor, err := factorize(ctx, backend, train, bias)
	if err != nil {
		return nil, err
	}
	w := &Whitening{height: train.Height, width: train.Width, channels: train.Channels}
	for _, m := range mean {
		w.mean = append(w.mean, float32(m))
	}
	w.matrix, err = fromFactor(backend, factor, bias)
	return w, err
}

// fromFactor returns W [D, D] for the factor B [K, D], see fit.
func fromFactor(backend compute.Backend, factor *tensors.Tensor, bias float64) ([]float32, error) {
	matrix, err := ExecOnce(backend, func(b *Node) *Node {
		identity := DiagonalWithValue(Scalar(b.Graph(), dtypes.Float64, 1/math.Sqrt(bias)), b.Shape().Dim(1))
		return ConvertDType(Sub(identity, Einsum("kd,ke->de", b, b)), dtypes.Float32)
	}, factor)
	if err != nil {
		return nil, err
	}
	return tensors.CopyFlatData[float32](matrix)
}

// gain is g(λ) of fit, in a form that is exact at λ = 0 too.
func gain(value, bias float64) float64 {
	a, b := math.Sqrt(bias), math.Sqrt(value+bias)
	return 1 / (a * b * (a + b))
}

// factorCovariance returns the mean [D] of the images after GCN, and the factor [D, D] from the eigenvectors u of their
// covariance: B = (λ g(λ))^(1/2) uᵀ.
func factorCovariance(ctx context.Context, backend compute.Backend, train Images, bias float64) ([]float64, *tensors.Tensor, error) {
	mean, covariance, err := moments(ctx, backend, train)
	if err != nil {
		return nil, nil, err
	}
	vectors, scales, err := eigen(ctx, covariance, train.Size(), func(value float64) float64 {
		return math.Sqrt(value * gain(value, bias))
	})
	if err != nil {
		return nil, nil, err
	}
	factor, err := ExecOnce(backend, func(u, scale *Node) *Node { return Mul(Transpose(u, 0, 1), scale) }, vectors, scales)
	return mean, factor, err
}

// factorGram returns the same from the centred images X [N, D] and the eigenvectors v of their Gram matrix X Xᵀ / N, whose
// eigenvalues are those of the covariance, except for zeros. As u = (N λ)^(-1/2) Xᵀ v, the factor [N, D] is
// B = (g(λ) / N)^(1/2) vᵀ X.
func factorGram(ctx context.Context, backend compute.Backend, train Images, bias float64) ([]float64, *tensors.Tensor, error) {
	outputs, err := ExecOnceN(backend, gram, tensors.FromFlatDataAndDimensions(train.Pixels, train.Len(), train.Size()))
	if err != nil {
		return nil, nil, err
	}
	mean, err := tensors.CopyFlatData[float64](outputs[0])
	if err != nil {
		return nil, nil, err
	}
	products, err := tensors.CopyFlatData[float64](outputs[2])
	if err != nil {
		return nil, nil, err
	}
	vectors, scales, err := eigen(ctx, products, train.Len(), func(value float64) float64 {
		return math.Sqrt(gain(value, bias) / float64(train.Len()))
	})
	if err != nil {
		return nil, nil, err
	}
	factor, err := ExecOnce(backend, func(v, scale, x *Node) *Node { return Mul(Einsum("nk,nd->kd", v, x), scale) },
		vectors, scales, outputs[1])
	return mean, factor, err
}

// gram is a graph: pixels uint8 [N, D] → the mean after GCN [D], the centred images X [N, D], and X Xᵀ / N; all float64.
func gram(pixels *Node) (mean, centred, products *Node) {
	x := normalizeContrast(pixels)
	centred = Sub(x, ReduceAndKeep(x, ReduceMean, 0))
	products = DivScalar(Einsum("nd,md->nm", centred, centred), float64(pixels.Shape().Dim(0)))
	return ReduceMean(x, 0), centred, products
}

// moments returns the mean [D] and the covariance [D, D] of images after GCN. The backend sums them up chunk by chunk.
func moments(ctx context.Context, backend compute.Backend, train Images) (mean, covariance []float64, err error) {
	exec, err := NewExec(backend, addMoments)
	if err != nil {
		return nil, nil, err
	}
	defer exec.Finalize()
	size := train.Size()
	sums := []*tensors.Tensor{tensors.FromScalarAndDimensions(0.0, size), tensors.FromScalarAndDimensions(0.0, size, size)}
	err = eachChunk(train, func(pixels *tensors.Tensor) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		added, err := exec.Call(sums[0], sums[1], pixels)
		if err != nil {
			return err
		}
		err = errors.Join(sums[0].FinalizeAll(), sums[1].FinalizeAll())
		sums = added
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if mean, err = tensors.CopyFlatData[float64](sums[0]); err != nil {
		return nil, nil, err
	}
	if covariance, err = tensors.CopyFlatData[float64](sums[1]); err != nil {
		return nil, nil, err
	}
	n := float64(train.Len())
	for i := range mean {
		mean[i] /= n
	}
	for i, a := range mean {
		for j, b := range mean {
			covariance[i*size+j] = covariance[i*size+j]/n - a*b
		}
	}
	return mean, covariance, errors.Join(sums[0].FinalizeAll(), sums[1].FinalizeAll())
}

// addMoments is a graph: it adds images, pixels uint8 [N, D], to the sum [D] and to the sum of the products [D, D] of their
// values after GCN, float64.
func addMoments(sum, products, pixels *Node) (newSum, newProducts *Node) {
	x := normalizeContrast(pixels)
	return Add(sum, ReduceSum(x, 0)), Add(products, Einsum("nd,ne->de", x, x))
}

// eigen returns the eigenvectors of a symmetric matrix [N, N] without negative eigenvalues, as columns [N, N], and a scale of
// each eigenvalue [N, 1]. It returns as soon as ctx ends, although the library's routine cannot be stopped.
//
// The eigenvectors and eigenvalues of such a matrix are its singular vectors and values. gonum finds those ten times as fast
// at 3072×3072 as with mat.EigenSym, which rotates columns of a matrix stored by rows (43 s and 407 s on the same core).
func eigen(ctx context.Context, symmetric []float64, n int, scale func(value float64) float64) (vectors, scales *tensors.Tensor, err error) {
	var svd mat.SVD
	done := make(chan bool, 1)
	go func() { done <- svd.Factorize(mat.NewDense(n, n, symmetric), mat.SVDThinV) }()
	select {
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case ok := <-done:
		if !ok {
			return nil, nil, errors.New("the eigenvalues of the training images do not converge")
		}
	}
	var v mat.Dense
	svd.VTo(&v)
	values := svd.Values(nil)
	for i, value := range values {
		values[i] = scale(value)
	}
	return tensors.FromFlatDataAndDimensions(v.RawMatrix().Data, n, n), tensors.FromFlatDataAndDimensions(values, n, 1), nil
}
