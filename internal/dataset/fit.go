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

// moments are sums over images after GCN, from which the whitening follows.
type moments struct {
	mean *tensors.Tensor // [D]
	// products is the covariance [D, D], or with centred the Gram matrix [N, N].
	products *tensors.Tensor
	// centred are the images without their mean [N, D], if the products are the Gram matrix; else nil.
	centred *tensors.Tensor
}

// fit computes the whitening. All is float64: an ε of 0.1 beside eigenvalues of several hundred
// needs more than products of float32, which a GPU may round to TF32.
func fit(
	ctx context.Context, backend compute.Backend, train Images, epsilon float64,
) (w *Whitening, err error) {
	err = exceptions.TryCatch[error](func() {
		products := covariance
		if train.Len() < train.Size() { // so that the Gram matrix is the smaller one
			products = gram
		}
		w = solve(ctx, backend, epsilon, products(ctx, backend, train))
	})
	return w, err
}

// solve returns the whitening of moments. With the eigenvectors u of the covariance and their
// eigenvalues λ, its matrices are those of [matrices]. Like what follows, it panics on errors,
// which fit catches.
func solve(ctx context.Context, backend compute.Backend, epsilon float64, m moments) *Whitening {
	vectors, values := eigen(ctx, m.products)
	inputs := []any{m.mean, vectors, values}
	if m.centred != nil {
		inputs = append(inputs, m.centred)
	}
	solution := MustExecOnceN(backend, func(inputs []*Node) []*Node {
		mean, vectors, values := inputs[0], inputs[1], inputs[2]
		// The factor [K, D] has the rows √λ uᵀ. From the eigenvectors v of the Gram matrix, as
		// u = (N λ)^(-1/2) Xᵀ v, it is N^(-1/2) vᵀ X.
		var factor *Node
		if m.centred == nil {
			factor = Mul(Transpose(vectors, 0, 1), Sqrt(values))
		} else {
			centred := inputs[3]
			n := float64(centred.Shape().Dim(0))
			factor = DivScalar(Einsum("nk,nd->kd", vectors, centred), math.Sqrt(n))
		}
		matrix, inverse := matrices(factor, values, epsilon)
		outputs := []*Node{mean, matrix, inverse, factor}
		for i, output := range outputs {
			outputs[i] = ConvertDType(output, dtypes.Float32)
		}
		return outputs
	}, inputs...)
	w := &Whitening{Carried: Carried{Epsilon: epsilon}}
	for i, to := range []*[]float32{&w.Carried.Mean, &w.matrix, &w.inverse, &w.Carried.Factor} {
		*to = tensors.MustCopyFlatData[float32](solution[i])
	}
	variances := tensors.MustCopyFlatData[float64](values)
	kept := keptDirections(variances, epsilon)
	w.Carried.Factor = w.Carried.Factor[:kept*len(w.Carried.Mean)]
	for _, variance := range variances[:kept] {
		w.Carried.Variances = append(w.Carried.Variances, float32(variance))
	}
	return w
}

// matrices returns W and W⁻¹ from the factor [K, D], whose rows are √λ uᵀ, and the eigenvalues λ
// [K, 1]. With a² = ε and b² = λ + ε,
//
//	W   = I/a − Σ_u λ g u uᵀ,   g = (1/a − 1/b)/λ = 1/(ab(a + b))
//	W⁻¹ = a I + Σ_u λ h u uᵀ,   h = (b − a)/λ = 1/(a + b)
//
// so directions in which the images do not differ, λ = 0, need no eigenvector.
func matrices(factor, values *Node, epsilon float64) (matrix, inverse *Node) {
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
	return Sub(identity(1/a), sum(g)), Add(identity(a), sum(h))
}

// carriedError is how far a whitened training image may move, of its length, when directions in
// which W is nearly a multiple of the identity are left out. Half precision moves it by half as
// much.
const carriedError = 1e-3

// keptDirections returns how many of the eigenvalues, the largest first, need their direction: all
// others together move a whitened training image by less than carriedError of its length.
func keptDirections(variances []float64, epsilon float64) int {
	a, whole, left := math.Sqrt(epsilon), 0.0, make([]float64, len(variances)+1)
	for k := len(variances) - 1; k >= 0; k-- {
		b := math.Sqrt(variances[k] + epsilon)
		left[k] = left[k+1] + variances[k]*(1/a-1/b)*(1/a-1/b)
		whole += variances[k] / (b * b)
	}
	kept := 1 // a file has one at least
	for left[kept] > carriedError*carriedError*whole {
		kept++
	}
	return kept
}

// covariance returns the mean and the covariance of images. The backend sums them up chunk by
// chunk.
func covariance(ctx context.Context, backend compute.Backend, train Images) moments {
	exec := MustNewExec(backend, func(sum, products, pixels *Node) (newSum, newProducts *Node) {
		x := normalizeContrast(pixels)
		return Add(sum, ReduceSum(x, 0)), Add(products, Einsum("nd,ne->de", x, x))
	})
	defer exec.Finalize()
	d := train.Size()
	sum := tensors.FromScalarAndDimensions(0.0, d)
	products := tensors.FromScalarAndDimensions(0.0, d, d)
	eachChunk(train, func(pixels *tensors.Tensor) {
		if ctx.Err() != nil {
			panic(ctx.Err())
		}
		newSum, newProducts := exec.MustCall2(sum, products, pixels)
		sum.MustFinalizeAll()
		products.MustFinalizeAll()
		sum, products = newSum, newProducts
	})
	both := MustExecOnceN(backend, func(sum, products *Node) (mean, covariance *Node) {
		n := float64(train.Len())
		mean = DivScalar(sum, n)
		return mean, Sub(DivScalar(products, n), Einsum("d,e->de", mean, mean))
	}, sum, products)
	return moments{mean: both[0], products: both[1]}
}

// gram returns the mean of images, the Gram matrix X Xᵀ / N, whose eigenvalues are those of the
// covariance, except for zeros, and X, the images without their mean.
func gram(_ context.Context, backend compute.Backend, train Images) moments {
	all := MustExecOnceN(backend, func(pixels *Node) (mean, products, centred *Node) {
		x := normalizeContrast(pixels)
		centred = Sub(x, ReduceAndKeep(x, ReduceMean, 0))
		mean = ReduceMean(x, 0)
		products = DivScalar(Einsum("nd,md->nm", centred, centred), float64(train.Len()))
		return mean, products, centred
	}, tensors.FromFlatDataAndDimensions(train.Pixels, train.Len(), train.Size()))
	return moments{mean: all[0], products: all[1], centred: all[2]}
}

// eigen returns the eigenvectors of a symmetric matrix [N, N] without negative eigenvalues, as
// columns [N, N], and the eigenvalues [N, 1]. It ends as soon as ctx does, although the library's
// routine cannot be stopped.
//
// The eigenvectors and eigenvalues of such a matrix are its singular vectors and values. gonum
// finds those ten times as fast at 3072×3072 as with mat.EigenSym, which rotates columns of a
// matrix stored by rows (43 s and 407 s on the same core).
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
	return tensors.FromFlatDataAndDimensions(v.RawMatrix().Data, n, n),
		tensors.FromFlatDataAndDimensions(svd.Values(nil), n, 1)
}
