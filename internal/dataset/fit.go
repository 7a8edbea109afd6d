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

// fit computes the mean and the matrices W and W⁻¹ of the whitening. All is float64: an ε of 0.1 beside eigenvalues of several
// hundred needs more than products of float32, which a GPU may round to TF32.
func fit(ctx context.Context, backend compute.Backend, train Images, epsilon float64) (*Whitening, error) {
	products := covariance
	// For fewer images than values, N < D, the Gram matrix is the smaller one.
	if train.Len() < train.Size() {
		products = gram
	}
	of, err := products(ctx, backend, train)
	if err != nil {
		return nil, err
	}
	return solve(ctx, backend, epsilon, of[0], of[1], of[2:]...)
}

// solve returns the whitening for a mean and the covariance, or the Gram matrix of the centred images X [N, D] and these images. With
// the eigenvectors u of the covariance and their eigenvalues λ, and a² = ε and b² = λ + ε,
//
//	W   = I/a − Σ_u λ g u uᵀ,   g = (1/a − 1/b)/λ = 1/(ab(a + b))
//	W⁻¹ = a I + Σ_u λ h u uᵀ,   h = (b − a)/λ = 1/(a + b)
//
// so directions in which the images do not differ, λ = 0, need no eigenvector.
func solve(ctx context.Context, backend compute.Backend, epsilon float64, mean, products *tensors.Tensor, centred ...*tensors.Tensor) (*Whitening, error) {
	vectors, values, err := eigen(ctx, products)
	if err != nil {
		return nil, err
	}
	inputs := []any{mean, vectors, values}
	for _, x := range centred {
		inputs = append(inputs, x)
	}
	solution, err := ExecOnce(backend, func(inputs []*Node) *Node {
		mean, factor, values := inputs[0], factor(inputs[1:]...), inputs[2]
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
	if err != nil {
		return nil, err
	}
	flat, err := tensors.CopyFlatData[float32](solution)
	if err != nil {
		return nil, err
	}
	return newWhitening(flat, mean.Size()), nil
}

// factor is a graph: the matrix [K, D] whose rows are √λ uᵀ, from the eigenvectors of the covariance, as columns, and their eigenvalues [K, 1]. From
// the eigenvectors v of the Gram matrix, as u = (N λ)^(-1/2) Xᵀ v, it is N^(-1/2) vᵀ X.
func factor(inputs ...*Node) *Node {
	vectors, values := inputs[0], inputs[1]
	if len(inputs) == 2 {
		return Mul(Transpose(vectors, 0, 1), Sqrt(values))
	}
	return DivScalar(Einsum("nk,nd->kd", vectors, inputs[2]), math.Sqrt(float64(inputs[2].Shape().Dim(0))))
}

// covariance returns the mean [D] and the covariance [D, D] of images after GCN. The backend sums them up chunk by chunk.
func covariance(ctx context.Context, backend compute.Backend, train Images) ([]*tensors.Tensor, error) {
	exec, err := NewExec(backend, func(sum, products, pixels *Node) (newSum, newProducts *Node) {
		x := normalizeContrast(pixels)
		return Add(sum, ReduceSum(x, 0)), Add(products, Einsum("nd,ne->de", x, x))
	})
	if err != nil {
		return nil, err
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
		return nil, err
	}
	return ExecOnceN(backend, func(sum, products *Node) (mean, covariance *Node) {
		n := float64(train.Len())
		mean = DivScalar(sum, n)
		return mean, Sub(DivScalar(products, n), Einsum("d,e->de", mean, mean))
	}, sums[0], sums[1])
}

// gram returns the mean [D] of images after GCN, the Gram matrix X Xᵀ / N, whose eigenvalues are those of the covariance, except for zeros,
// and X [N, D], the images without their mean.
func gram(_ context.Context, backend compute.Backend, train Images) ([]*tensors.Tensor, error) {
	return ExecOnceN(backend, func(pixels *Node) (mean, products, centred *Node) {
		x := normalizeContrast(pixels)
		centred = Sub(x, ReduceAndKeep(x, ReduceMean, 0))
		return ReduceMean(x, 0), DivScalar(Einsum("nd,md->nm", centred, centred), float64(train.Len())), centred
	}, tensors.FromFlatDataAndDimensions(train.Pixels, train.Len(), train.Size()))
}

// eigen returns the eigenvectors of a symmetric matrix [N, N] without negative eigenvalues, as columns [N, N], and the eigenvalues [N, 1].
// It returns as soon as ctx ends, although the library's routine cannot be stopped.
//
// The eigenvectors and eigenvalues of such a matrix are its singular vectors and values. gonum finds those ten times as fast
// at 3072×3072 as with mat.EigenSym, which rotates columns of a matrix stored by rows (43 s and 407 s on the same core).
func eigen(ctx context.Context, symmetric *tensors.Tensor) (vectors, values *tensors.Tensor, err error) {
	content, err := tensors.CopyFlatData[float64](symmetric)
	if err != nil {
		return nil, nil, err
	}
	n := symmetric.Shape().Dim(0)
	var svd mat.SVD
	done := make(chan bool, 1)
	go func() { done <- svd.Factorize(mat.NewDense(n, n, content), mat.SVDThinV) }()
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
	return tensors.FromFlatDataAndDimensions(v.RawMatrix().Data, n, n), tensors.FromFlatDataAndDimensions(svd.Values(nil), n, 1), nil
}
