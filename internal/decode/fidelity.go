package decode

import (
	"context"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"
)

// Fidelity measures the decodings from one block, as means over images.
type Fidelity struct {
	// Block is the block's name.
	Block string
	// Cosine between an image and its reconstruction, and its standard deviation over images.
	Cosine, CosineStd float64
	// Error is the relative error min over s of ‖x − s x̂‖ / ‖x‖, for an image x and its reconstruction x̂.
	Error float64
	// Difference is the variation of the decoded features between hypotheses: their squared distance from the mean over
	// hypotheses, divided by their squared norm. DifferenceStd is its standard deviation over images. Both are nil if the
	// code does not depend on the hypothesis.
	Difference, DifferenceStd *float64
	// InkShare is the fraction of that squared distance on the digit's ink, the pixels brighter than the background, and
	// InkArea is the fraction of pixels with ink. Both are nil for images without ink, see [Model], and if Difference is nil.
	InkShare, InkArea *float64
}

// Measure decodes preprocessed images [N, H, W, C] from every block. If ctx ends, Measure returns its cause.
func (m *Model) Measure(ctx context.Context, images *tensors.Tensor) ([]Fidelity, error) {
	blocks := m.Network.Blocks()
	values := make([][][]float64, len(blocks)) // of each block, each measure and each image
	err := m.each(ctx, images, func(outputs []*tensors.Tensor, count int) error {
		i := 0
		for _, output := range outputs {
			if output.Rank() == 2 { // the measures
				values[i] = appendColumns(values[i], output.Value().([][]float32)[:count])
				i++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []Fidelity
	for i, block := range blocks {
		cosines, errors, differences, inkShares, inkAreas := values[i][0], values[i][1], values[i][2], values[i][3], values[i][4]
		f := Fidelity{Block: block.Name, Error: stat.Mean(errors, nil)}
		f.Cosine, f.CosineStd = meanStd(cosines)
		difference, std := meanStd(differences)
		f.Difference, f.DifferenceStd = known(difference), known(std)
		f.InkShare, f.InkArea = known(stat.Mean(inkShares, nil)), known(stat.Mean(inkAreas, nil))
		all = append(all, f)
	}
	return all, nil
}

// meanStd returns the mean and the standard deviation of values; the deviation of one value is 0.
func meanStd(values []float64) (mean, std float64) {
	if len(values) == 1 {
		return values[0], 0 * values[0] // NaN stays NaN
	}
	return stat.MeanStdDev(values, nil)
}

// known returns a pointer to value, nil for NaN.
func known(value float64) *float64 {
	if math.IsNaN(value) {
		return nil
	}
	return &value
}

// appendColumns appends the columns of rows to columns.
func appendColumns(columns [][]float64, rows [][]float32) [][]float64 {
	if columns == nil {
		columns = make([][]float64, len(rows[0]))
	}
	for _, row := range rows {
		for i, value := range row {
			columns[i] = append(columns[i], float64(value))
		}
	}
	return columns
}

// fidelity measures the decodings of images [N, H, W, C] from a block. It returns [N, 5]: cosine, error, difference, ink share and ink
// area, with NaN for measures that do not exist.
func (m *Model) fidelity(images *Node, l level) *Node {
	cosine := cosine(images, l.reconstructions)
	unknown := MulScalar(OnesLike(cosine), math.NaN())
	difference, inkShare, inkArea := unknown, unknown, unknown
	if l.features.Rank() > images.Rank() {
		spread := Square(Sub(l.features, ReduceAndKeep(l.features, ReduceMean, 1)))
		difference = ratio(ReduceSum(spread, 1, 2, 3, 4), ReduceSum(Square(l.features), 1, 2, 3, 4))
		if m.Ink {
			ink := ConvertDType(IsPositive(images), images.DType())
			inkShare = ratio(ReduceSum(Mul(spread, InsertAxes(ink, 1)), 1, 2, 3, 4), ReduceSum(spread, 1, 2, 3, 4))
			inkArea = ReduceMean(ink, 1, 2, 3)
		}
	}
	return Stack([]*Node{cosine, Sqrt(OneMinus(Square(cosine))), difference, inkShare, inkArea}, -1)
}

// cosine returns the cosines between images [N, H, W, C], clipped to [−1, 1]; 0 if one of the two is zero.
func cosine(a, b *Node) *Node {
	inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1, 2, 3) }
	return ClipScalar(ratio(inner(a, b), Sqrt(Mul(inner(a, a), inner(b, b)))), -1, 1)
}

// ratio returns a / b, and 0 where b is 0.
func ratio(a, b *Node) *Node {
	zero := IsZero(b)
	return Where(zero, ZerosLike(a), Div(a, Where(zero, OnesLike(b), b)))
}
