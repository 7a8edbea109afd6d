package decode

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/stat"
)

// Fidelity is how faithful decodings from one block are, in means over images.
type Fidelity struct {
	// Block is the block's name.
	Block string
	// Cosine between an image and its reconstruction, and its standard deviation over the images.
	Cosine, CosineStd float64
	// Error is ‖x − s x̂‖ / ‖x‖ for an image x and its reconstruction x̂, scaled by the s that makes it least.
	Error float64
	// Difference is how much the decoded features differ between hypotheses, beside their size: the squared distance from
	// their mean over hypotheses, over the squared length; and its standard deviation over the images. NaN where the code
	// does not depend on the hypothesis.
	Difference, DifferenceStd float64
	// InkShare is how much of the squared differences between hypotheses lies on the digit's ink, and InkArea how much of
	// the image that is: a pixel has ink where it is brighter than the background. NaN for images in colour.
	InkShare, InkArea float64
}

// fidelityJSON is how a Fidelity is written: JSON has no NaN, so null stands for it.
type fidelityJSON struct {
	Block                                                                  string
	Cosine, CosineStd, Error, Difference, DifferenceStd, InkShare, InkArea *float64
}

// pairs are the numbers of a fidelity, each with its place in what is written.
func (f *Fidelity) pairs(written *fidelityJSON) map[*float64]**float64 {
	return map[*float64]**float64{
		&f.Cosine: &written.Cosine, &f.CosineStd: &written.CosineStd, &f.Error: &written.Error, &f.Difference: &written.Difference,
		&f.DifferenceStd: &written.DifferenceStd, &f.InkShare: &written.InkShare, &f.InkArea: &written.InkArea,
	}
}

// MarshalJSON writes null for NaN.
func (f Fidelity) MarshalJSON() ([]byte, error) {
	written := fidelityJSON{Block: f.Block}
	for number, place := range f.pairs(&written) {
		if !math.IsNaN(*number) {
			*place = number
		}
	}
	return json.Marshal(written)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Fidelity) UnmarshalJSON(text []byte) error {
	var written fidelityJSON
	if err := json.Unmarshal(text, &written); err != nil {
		return err
	}
	f.Block = written.Block
	for number, place := range f.pairs(&written) {
		*number = math.NaN()
		if *place != nil {
			*number = **place
		}
	}
	return nil
}

// measureBatch is how many images are decoded at once: codes of all hypotheses take memory.
const measureBatch = 25

// Measure decodes preprocessed images [N, H, W, C] from every block. It stops with ctx's cause.
// Images of one channel must not have been whitened: where they are not 0 is ink.
func (m Model) Measure(ctx context.Context, images *tensors.Tensor) ([]Fidelity, error) {
	exec, err := model.NewExec(m.Backend, m.Store, m.fidelity)
	if err != nil {
		return nil, fmt.Errorf("building the decoding: %w", err)
	}
	defer exec.Finalize()
	dims := images.Shape().Dimensions
	flat, size := tensors.MustCopyFlatData[float32](images), images.Shape().Size()/dims[0]
	blocks := m.blocks()
	values := make([][][]float64, len(blocks)) // by block and quantity, of all images
	for from := 0; from < dims[0]; from += measureBatch {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		to := min(from+measureBatch, dims[0])
		batch := tensors.FromFlatDataAndDimensions(flat[from*size:to*size], append([]int{to - from}, dims[1:]...)...)
		outputs, err := exec.Call(batch)
		if err != nil {
			return nil, fmt.Errorf("decoding: %w", err)
		}
		for i := range blocks {
			values[i] = appendColumns(values[i], outputs[i].Value().([][]float32))
		}
	}
	var all []Fidelity
	for i, block := range blocks {
		f := Fidelity{Block: block.Name}
		f.Cosine, f.CosineStd = stat.MeanStdDev(values[i][0], nil)
		f.Error = stat.Mean(values[i][1], nil)
		f.Difference, f.DifferenceStd = stat.MeanStdDev(values[i][2], nil)
		f.InkShare, f.InkArea = stat.Mean(values[i][3], nil), stat.Mean(values[i][4], nil)
		all = append(all, f)
	}
	return all, nil
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

// fidelity measures each image [N, H, W, C] by itself: for each block [N, 5], the means of Fidelity in their order.
func (m Model) fidelity(scope *model.Scope, images *Node) (all []*Node) {
	for _, l := range m.levels(scope, images) {
		cosine := cosine(images, l.reconstructions)
		unknown := MulScalar(OnesLike(cosine), math.NaN())
		difference, inkShare, inkArea := unknown, unknown, unknown
		if l.features.Rank() > images.Rank() {
			spread := Square(Sub(l.features, ReduceAndKeep(l.features, ReduceMean, 1)))
			difference = ratio(ReduceSum(spread, 1, 2, 3, 4), ReduceSum(Square(l.features), 1, 2, 3, 4))
			if m.Network.Channels == 1 {
				ink := ConvertDType(IsPositive(images), images.DType())
				inkShare = ratio(ReduceSum(Mul(spread, InsertAxes(ink, 1)), 1, 2, 3, 4), ReduceSum(spread, 1, 2, 3, 4))
				inkArea = ReduceMean(ink, 1, 2, 3)
			}
		}
		all = append(all, Stack([]*Node{cosine, Sqrt(OneMinus(Square(cosine))), difference, inkShare, inkArea}, -1))
	}
	return all
}

// cosine of the angles between images [N, H, W, C], at most 1, and 0 where one of them is 0.
func cosine(a, b *Node) *Node {
	inner := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), 1, 2, 3) }
	return ClipScalar(ratio(inner(a, b), Sqrt(Mul(inner(a, a), inner(b, b)))), -1, 1)
}

// ratio is a / b, and 0 where b is 0.
func ratio(a, b *Node) *Node {
	zero := IsZero(b)
	return Where(zero, ZerosLike(a), Div(a, Where(zero, OnesLike(b), b)))
}
