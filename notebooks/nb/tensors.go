package nb

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/gonum/floats"

	"ebsscgo/internal/dataset"
	"ebsscgo/internal/tensor"
)

// TestImage returns a test image of a set between 0 and 1, [1, H, W, C], and its label.
func TestImage(set *dataset.Set, number int) (*tensors.Tensor, int) {
	checkNumber(number, set.Test.Len())
	return set.Test.Slice(number, number+1).Tensor(), int(set.Test.Labels[number])
}

// checkNumber ends the cell with a line if there is no image of that number.
func checkNumber(number, images int) {
	if number < 0 || number >= images {
		Check(fmt.Errorf("there is no image %d: choose a number from 0 to %d", number, images-1))
	}
}

// Number returns the only value of a tensor.
func Number(t *tensors.Tensor) float64 { return tensor.Values(t)[0] }

// Peak returns the largest absolute value of a vector, at least 1e-30 so that one may divide by it.
func Peak(v []float64) float64 { return math.Max(floats.Norm(v, math.Inf(1)), 1e-30) }

// Minus returns a − b.
func Minus(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }

// Cosine returns the cosine of the angle between two vectors, 0 if one of them is 0.
func Cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / math.Max(floats.Norm(a, 2)*floats.Norm(b, 2), 1e-30)
}

// Keep saves a tensor under a name for later cells, until the kernel ends. Every cell is a program
// of its own: it inherits functions, types and the expressions of variables, but not what they
// computed.
func Keep(name string, t *tensors.Tensor) {
	Check(t.Save(kept(name)))
}

// Kept returns the tensor that an earlier cell saved under this name.
func Kept(name string) *tensors.Tensor {
	t, err := tensors.Load(kept(name))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no cell has saved %q: run the cells above first", name)
	}
	return Must(t, err)
}

// kept returns the file of a tensor in the kernel's own folder.
func kept(name string) string {
	return filepath.Join(os.Getenv(protocol.GONB_TMP_DIR_ENV), name+".tensor")
}
