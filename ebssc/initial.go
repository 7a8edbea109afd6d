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

// dictionaryGain compensates the rectification: each half of a split code keeps half of the drive's
// power.
const dictionaryGain = math.Sqrt2

// fill sets the initial values of a variable of these dimensions.
type fill func(rng *rand.Rand, values []float64, dims []int)

// uniform fills with numbers in value·[1−spread, 1+spread].
func uniform(value, spread float64) fill {
	return func(rng *rand.Rand, values []float64, _ []int) {
		for i := range values {
			values[i] = value * (1 + spread*(2*rng.Float64()-1))
		}
	}
}

// variable returns the scope's variable and creates it on the first call. Its random numbers depend
// only on the seed (model.ParamInitialSeed) and its path, so a new layer does not change the
// initial values of the others.
func variable(scope *model.Scope, name string, dtype dtypes.DType, dims []int,
	fill fill) *model.Variable {
	if v := scope.GetVariable(name); v != nil {
		return v
	}
	path := fnv.New64a()
	path.Write([]byte(model.JoinPath(scope.Scope(), name)))
	seed := model.GetParamOr(scope, model.ParamInitialSeed, int64(0))
	values := make([]float64, shapes.Make(dtype, dims...).Size())
	fill(rand.New(rand.NewPCG(uint64(seed), path.Sum64())), values, dims)
	if dtype == dtypes.Float64 {
		return scope.VariableWithValue(name, tensors.FromFlatDataAndDimensions(values, dims...))
	}
	single := make([]float32, len(values))
	for i, value := range values {
		single[i] = float32(value)
	}
	return scope.VariableWithValue(name, tensors.FromFlatDataAndDimensions(single, dims...))
}

// orthogonal fills a matrix, whose columns are along the last axis, with gain times a random matrix
// that has orthonormal columns, or orthonormal rows if it is wider than high.
func orthogonal(gain float64) fill {
	return func(rng *rand.Rand, values []float64, dims []int) {
		cols := dims[len(dims)-1]
		rows := len(values) / cols
		long, short := max(rows, cols), min(rows, cols)
		normal := make([]float64, long*short)
		for i := range normal {
			normal[i] = rng.NormFloat64()
		}
		var qr mat.QR
		qr.Factorize(mat.NewDense(long, short, normal))
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
}
