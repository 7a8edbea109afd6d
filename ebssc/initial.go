package ebssc

import (
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/mat"
)

// dictionaryGain compensates the rectification: each half of a split code keeps half of the drive's power.
const dictionaryGain = math.Sqrt2

// dictionaryVariable is d [k, k, C, K]: orthonormal filters times √2; with more filters than entries in a filter, the rows
// across filters are orthonormal instead.
func dictionaryVariable(scope *model.Scope, dtype dtypes.DType, kernel, channels, filters int) *model.Variable {
	return variable(scope, "dictionary", dtype, []int{kernel, kernel, channels, filters}, func(rng *rand.Rand, values []float64) {
		orthogonal(rng, values, kernel*kernel*channels, filters, dictionaryGain)
	})
}

// offsetVariable is b [K], starting at 0.
func offsetVariable(scope *model.Scope, dtype dtypes.DType, filters int) *model.Variable {
	return variable(scope, "offset", dtype, []int{filters}, func(*rand.Rand, []float64) {})
}

// betaVariable is the threshold β of spherical sparse coding, a scalar.
func betaVariable(scope *model.Scope, h Hyper, dtype dtypes.DType) *model.Variable {
	return variable(scope, "thresholds", dtype, nil, func(_ *rand.Rand, values []float64) { values[0] = h.Beta })
}

// classThresholdsVariable is ŵ_y = [ŵ_y⁺, ŵ_y⁻] [Y, H, W, 2K], starting near β.
func classThresholdsVariable(scope *model.Scope, h Hyper, dtype dtypes.DType, dims []int) *model.Variable {
	return variable(scope, "thresholds", dtype, dims, func(rng *rand.Rand, values []float64) {
		for i := range values {
			values[i] = h.Beta * (1 + h.ClassSpread*(2*rng.Float64()-1))
		}
	})
}

// classifierVariable is the linear classifier's weights [C, Y], see linear: orthonormal columns.
func classifierVariable(scope *model.Scope, dtype dtypes.DType, channels, classes int) *model.Variable {
	return variable(scope, "weights", dtype, []int{channels, classes}, func(rng *rand.Rand, values []float64) {
		orthogonal(rng, values, channels, classes, 1)
	})
}

// variable returns the scope's variable and creates it on the first call. Its random numbers depend only on the seed
// (model.ParamInitialSeed) and its path, so a new layer does not change the initial values of the others.
func variable(scope *model.Scope, name string, dtype dtypes.DType, dims []int, fill func(*rand.Rand, []float64)) *model.Variable {
	if v := scope.GetVariable(name); v != nil {
		return v
	}
	path := fnv.New64a()
	path.Write([]byte(model.JoinPath(scope.Scope(), name)))
	seed := model.GetParamOr(scope, model.ParamInitialSeed, int64(0))
	values := make([]float64, shapes.Make(dtype, dims...).Size())
	fill(rand.New(rand.NewPCG(uint64(seed), path.Sum64())), values)
	if dtype == dtypes.Float64 {
		return scope.VariableWithValue(name, tensors.FromFlatDataAndDimensions(values, dims...))
	}
	single := make([]float32, len(values))
	for i, value := range values {
		single[i] = float32(value)
	}
	return scope.VariableWithValue(name, tensors.FromFlatDataAndDimensions(single, dims...))
}

// orthogonal fills a rows×cols matrix, row by row, with gain times a random matrix that has orthonormal columns, or
// orthonormal rows if it is wider than high.
func orthogonal(rng *rand.Rand, values []float64, rows, cols int, gain float64) {
	long, short := max(rows, cols), min(rows, cols)
	normal := mat.NewDense(long, short, nil)
	for i := range long {
		for j := range short {
			normal.Set(i, j, rng.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(normal)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	for i := range rows {
		for j := range cols {
			row, col := i, j
			if rows < cols {
				row, col = j, i
			}
			// With the signs of R's diagonal the matrix is uniformly distributed over orthogonal matrices.
			values[i*cols+j] = gain * q.At(row, col) * math.Copysign(1, r.At(col, col))
		}
	}
}
