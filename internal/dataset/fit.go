package dataset

import (
	"context"
	"errors"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"
	"gonum.org/v1/gonum/mat"
)

// fit computes the mean and the matrices W and W⁻¹ of the whitening. All is float64: an ε of 0.1 beside eigenvalues of several
// hundred needs more than products of float32, which a GPU may round to TF32.
func fit(ctx context.Context, backend compute.Backend, train Images, epsilon float64) (w *Whitening, err error) {
	err = exceptions.TryCatch[error](func() {
		products := covariance
		if train.Len() < train.Size() { // for fewer images than values, N < D, the Gram matrix is the smaller one
			products = gram
		}
		w = solve(ctx, backend, epsilon, products(ctx, backend, train))
	})
	return w, err
}

// solve returns the whitening for a mean and the covariance, or for a mean, the Gram matrix of the centred images X [N, D] and these images. With
// the eigenvectors u of the covariance and their eigenvalues λ, and a² = ε and b² = λ + ε,
//
//	W   = I/a − Σ_u λ g u uᵀ,   g = (1/a − 1/b)/λ = 1/(ab(a + b))
//	W⁻¹ = a I + Σ_u λ h u uᵀ,   h = (b − a)/λ = 1/(a + b)
//
// so directions in which the images do not differ, λ = 0, need no eigenvector. This and what follows panics on errors, which fit catches.
func solve(ctx context.Context, backend compute.Backend, epsilon float64, of []*tensors.Tensor) *Whitening {
	vectors, values := eigen(ctx, of[1])
	inputs := []any{of[0], vectors, values}
	for _, centred := range of[2:] {
		inputs = append(inputs, centred)
	}
	solution := MustExecOnce(backend, func(inputs []*Node) *Node {
		mean, vectors, values := inputs[0], inputs[1], inputs[2]
		// factor is the matrix [K, D] whose rows are √λ uᵀ. From the eigenvectors v of the Gram matrix, as u = (N λ)^(-1/2) Xᵀ v, it is
		// N^(-1/2) vᵀ X.
		var factor *Node
		if len(inputs) == 3 {
			factor = Mul(Transpose(vectors, 0, 1), Sqrt(values))
		} else {
			factor = DivScalar(Einsum("nk,nd->kd", vectors, inputs[3]), math.Sqrt(float64(inputs[3].Shape().Dim(0))))
		}
		sum := func(scale *Node) *Node { // Σ_u λ scale u uᵀ
			scaled := Mul(factor, Sqrt(scale))
			return Einsum("kd,ke->de", scaled, scaled)
		}
		identity := func(value float64) *Node {
			return DiagonalWithValue(Scalar(factor.Graph(), dtypes.Float64, value), factor.Shape().Dim(1))
		}
		a, b := math.Sqrt(epsilon), Sqrt(AddScalar(values, epsilon))
		h := Reciprocal(AddScalar(b, a))
		g := Div(h, MulScalar(b, a))
		matrix, inverse := Sub(identity(1/a), sum(g)), Add(identity(a), sum(h))
		return ConvertDType(Concatenate([]*Node{mean, Reshape(matrix, -1), Reshape(inverse, -1)}, 0), dtypes.Float32)
	}, inputs...)
	return &Whitening{of[0].Size(), tensors.MustCopyFlatData[float32](solution)}
}

// covariance returns the mean [D] and the covariance [D, D] of images after GCN. The backend sums them up chunk by chunk.
func covariance(ctx context.Context, backend compute.Backend, train Images) []*tensors.Tensor {
	exec := MustNewExec(backend, func(sum, products, pixels *Node) (newSum, newProducts *Node) {
		x := normalizeContrast(pixels)
		return Add(sum, ReduceSum(x, 0)), Add(products, Einsum("nd,ne->de", x, x))
	})
	defer exec.Finalize()
	sums := []*tensors.Tensor{tensors.FromScalarAndDimensions(0.0, train.Size()), tensors.FromScalarAndDimensions(0.0, train.Size(), train.Size())}
	eachChunk(train, func(pixels *tensors.Tensor) {
		if ctx.Err() != nil {
			panic(ctx.Err())
		}
		added := exec.MustCall(sums[0], sums[1], pixels)
		sums[0].MustFinalizeAll()
		sums[1].MustFinalizeAll()
		sums = added
	})
	return MustExecOnceN(backend, func(sum, products *Node) (mean, covariance *Node) {
		n := float64(train.Len())
		mean = DivScalar(sum, n)
		return mean, Sub(DivScalar(products, n), Einsum("d,e->de", mean, mean))
	}, sums[0], sums[1])
}

// gram returns the mean [D] of images after GCN, the Gram matrix X Xᵀ / N, whose eigenvalues are those of the covariance, except for zeros,
// and X [N, D], the images without their mean.
func gram(_ context.Context, backend compute.Backend, train Images) []*tensors.Tensor {
	return MustExecOnceN(backend, func(pixels *Node) (mean, products, centred *Node) {
		x := normalizeContrast(pixels)
		centred = Sub(x, ReduceAndKeep(x, ReduceMean, 0))
		return ReduceMean(x, 0), DivScalar(Einsum("nd,md->nm", centred, centred), float64(train.Len())), centred
	}, tensors.FromFlatDataAndDimensions(train.Pixels, train.Len(), train.Size()))
}

// eigen returns the eigenvectors of a symmetric matrix [N, N] without negative eigenvalues, as columns [N, N], and the eigenvalues [N, 1].
// It ends as soon as ctx does, although the library's routine cannot be stopped.
//
// The eigenvectors and eigenvalues of such a matrix are its singular vectors and values. gonum finds those ten times as fast
// at 3072×3072 as with mat.EigenSym, which rotates columns of a matrix stored by rows (43 s and 407 s on the same core).
func eigen(ctx context.Context, symmetric *tensors.Tensor) (vectors, values *tensors.Tensor) {
	n := symmetric.Shape().Dim(0)
	content := mat.NewDense(n, n, tensors.MustCopyFlatData[float64](symmetric))
	var svd mat.SVD
	done := make(chan bool, 1)
	go func() { done <- svd.Factorize(content, mat.SVDThinV) }()
	select {
	case <-ctx.Done():
		panic(ctx.Err())
	case ok := <-done:
		if !ok {
			panic(errors.New("the eigenvalues of the training images do not converge"))
		}
	}
	var v mat.Dense
	svd.VTo(&v)
	return tensors.FromFlatDataAndDimensions(v.RawMatrix().Data, n, n), tensors.FromFlatDataAndDimensions(svd.Values(nil), n, 1)
}
