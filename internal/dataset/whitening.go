package dataset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/cache"
)

// The constants of the paper's preprocessing, as Goodfellow 2013 (pylearn2) sets them for CIFAR-10.
const (
	// ContrastNorm is the Euclidean norm of an image after global contrast normalisation. Over the 3072 values of a
	// CIFAR-10 image it makes their root mean square 55/√3072 ≈ 0.99.
	ContrastNorm = 55.0
	// ZCABias is added to every eigenvalue of the covariance of contrast-normalised images. As the mean of those
	// eigenvalues is nearly 55²/3072 ≈ 0.98, it is a tenth of the mean variance of a pixel.
	ZCABias = 0.1
)

const (
	// minNorm is the norm below which an image counts as one without contrast, and is not divided by its norm.
	minNorm = 1e-8
	// chunk is how many images go through the backend at once.
	chunk = 2000
	// whiteningVersion is raised by every change after which the same images give another whitening.
	whiteningVersion = 1
)

// Whitening is the preprocessing of the paper, fitted on training images by [Fit]: for an image x as a vector of
// D = H·W·C values,
//
//	g = 55 (x − mean(x)) / ‖x − mean(x)‖₂                global contrast normalisation (GCN)
//	y = (g − μ) W   with   W = U (Λ + 0.1)^(-1/2) Uᵀ     zero-phase component analysis (ZCA)
//
// where μ is the mean and U Λ Uᵀ the covariance (divided by N) of the training images after GCN.
type Whitening struct {
	height, width, channels int
	mean                    []float32 // μ, [D]
	matrix                  []float32 // W, [D, D], symmetric
}

// Fit fits the whitening on training images. It takes most of a minute for CIFAR-10, so the cache keeps the result for the
// next time that everything which decides it is the same.
func Fit(ctx context.Context, backend compute.Backend, train Images, bias float64) (*Whitening, error) {
	if train.Len() == 0 {
		return nil, errors.New("no images to fit a whitening on")
	}
	if bias == 0 {
		w := &Whitening{height: train.Height, width: train.Width, channels: train.Channels,
			mean: make([]float32, train.Size()), matrix: make([]float32, train.Size()*train.Size())}
		for i := range train.Size() {
			w.matrix[i*train.Size()+i] = 1
		}
		return w, nil
	}
	load := func(file string) *Whitening { return loadWhitening(file, train) }
	return loadOrMake(ctx, "whitening", whiteningKey(backend, train, bias), load, func(file string) (*Whitening, error) {
		w, err := fit(ctx, backend, train, bias)
		if err != nil {
			return nil, err
		}
		return w, cache.Explain(w.save(file))
	})
}

// whiteningKey is the hash of everything that decides a whitening.
func whiteningKey(backend compute.Backend, train Images, bias float64) string {
	program, _, _ := strings.Cut(backend.Description(), " [") // the plugin, without the number of devices
	hash := sha256.New()
	fmt.Fprintf(hash, "version %d, images %d×%d×%d×%d, norm %v, bias %v, backend %s\n",
		whiteningVersion, train.Len(), train.Height, train.Width, train.Channels, ContrastNorm, bias, program)
	hash.Write(train.Pixels)
	return hex.EncodeToString(hash.Sum(nil))
}

// save writes a whitening: the SHA-256 of what follows, then the mean and the matrix in little-endian.
func (w *Whitening) save(file string) error {
	var values bytes.Buffer
	if err := binary.Write(&values, binary.LittleEndian, slices.Concat(w.mean, w.matrix)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	sum := sha256.Sum256(values.Bytes())
	return atomicfile.Write(file, append(sum[:], values.Bytes()...))
}

// loadWhitening reads what save wrote for images of the size of train's. It returns nil if the file is missing or damaged.
func loadWhitening(file string, train Images) *Whitening {
	size := train.Size()
	values := make([]float32, size+size*size)
	content, err := readPlain(file, int64(sha256.Size+4*len(values)))
	if err != nil || len(content) != sha256.Size+4*len(values) {
		return nil
	}
	if sum := sha256.Sum256(content[sha256.Size:]); !bytes.Equal(sum[:], content[:sha256.Size]) {
		return nil
	}
	if _, err := binary.Decode(content[sha256.Size:], binary.LittleEndian, values); err != nil {
		return nil
	}
	return &Whitening{
		height: train.Height, width: train.Width, channels: train.Channels, mean: values[:size], matrix: values[size:],
	}
}

// Apply whitens images, which are of the size of those it was fitted on: float32 [N, H, W, C]. It computes in float64,
// so that the result does not depend on how a backend rounds products of float32 (TF32 on a GPU).
func (w *Whitening) Apply(backend compute.Backend, images Images) (*tensors.Tensor, error) {
	if images.Height != w.height || images.Width != w.width || images.Channels != w.channels {
		return nil, fmt.Errorf("images of %d×%d×%d: the whitening was fitted on %d×%d×%d",
			images.Height, images.Width, images.Channels, w.height, w.width, w.channels)
	}
	if images.Len() == 0 {
		return nil, fmt.Errorf("no images to whiten")
	}
	exec, err := NewExec(backend, whiten)
	if err != nil {
		return nil, err
	}
	defer exec.Finalize()
	size := images.Size()
	mean := tensors.FromFlatDataAndDimensions(w.mean, 1, size)
	matrix := tensors.FromFlatDataAndDimensions(w.matrix, size, size)
	flat := make([]float32, 0, images.Len()*size)
	err = eachChunk(images, func(pixels *tensors.Tensor) error {
		whitened, err := exec.Call1(pixels, mean, matrix)
		if err != nil {
			return err
		}
		return finalizeAfter(whitened, func() error {
			return tensors.ConstFlatData(whitened, func(values []float32) { flat = append(flat, values...) })
		})
	})
	if err != nil {
		return nil, err
	}
	return tensors.FromFlatDataAndDimensions(flat, images.Len(), images.Height, images.Width, images.Channels), nil
}

// whiten is the graph of Apply: pixels uint8 [N, D], mean float32 [1, D], matrix float32 [D, D] → float32 [N, D].
func whiten(pixels, mean, matrix *Node) *Node {
	centred := Sub(normalizeContrast(pixels), ConvertDType(mean, dtypes.Float64))
	return ConvertDType(MatMul(centred, ConvertDType(matrix, dtypes.Float64)), dtypes.Float32)
}

// normalizeContrast is GCN as a graph: pixels uint8 [N, D] → float64 [N, D].
func normalizeContrast(pixels *Node) *Node {
	x := ConvertDType(pixels, dtypes.Float64)
	x = Sub(x, ReduceAndKeep(x, ReduceMean, 1))
	norm := Sqrt(ReduceAndKeep(Square(x), ReduceSum, 1))
	// An image of one value is all zeros by now, and stays so.
	norm = Where(LessThan(norm, Scalar(x.Graph(), dtypes.Float64, minNorm)), OnesLike(norm), norm)
	return MulScalar(Div(x, norm), ContrastNorm)
}

// eachChunk calls do with images as tensors uint8 [chunk, D], the last of which may be smaller.
func eachChunk(images Images, do func(pixels *tensors.Tensor) error) error {
	for from := 0; from < images.Len(); from += chunk {
		part := images.Slice(from, min(from+chunk, images.Len()))
		pixels := tensors.FromFlatDataAndDimensions(part.Pixels, part.Len(), part.Size())
		if err := finalizeAfter(pixels, func() error { return do(pixels) }); err != nil {
			return err
		}
	}
	return nil
}

// finalizeAfter frees a tensor after its use: on a device that is not left to the garbage collector.
func finalizeAfter(t *tensors.Tensor, use func() error) error {
	if err := use(); err != nil {
		return err
	}
	return t.FinalizeAll()
}
