package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"
	"github.com/klauspost/cpuid/v2"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/safefile"
)

const (
	// contrastNorm is the Euclidean norm of an image after global contrast normalisation, as
	// Goodfellow 2013 (pylearn2) sets it for CIFAR-10. Over the 3072 values of an image it makes their
	// root mean square 55/√3072 ≈ 0.99.
	contrastNorm = 55.0
	// minNorm is the norm below which an image counts as one without contrast, and is not divided by
	// its norm.
	minNorm = 1e-8
	// chunk is how many images go through the backend at once.
	chunk = 2000
	// whiteningVersion is raised by every change after which the same images give another whitening,
	// or another file.
	whiteningVersion = 3
)

// Whitening is the preprocessing of the paper, fitted on training images by [Fit]: for an image x
// as a vector of D = H·W·C values,
//
//	g = 55 (x − mean(x)) / ‖x − mean(x)‖₂                global contrast normalisation (GCN)
//	y = (g − μ) W   with   W = U (Λ + ε)^(-1/2) Uᵀ       zero-phase component analysis (ZCA)
//
// where μ is the mean and U Λ Uᵀ the covariance (divided by N) of the training images after GCN.
type Whitening struct {
	// Carried goes with a trained network.
	Carried Carried
	// matrix is W and inverse W⁻¹, symmetric [D, D].
	matrix, inverse []float32
}

// Carried is a whitening in the form that goes with a trained network.
type Carried struct {
	// Mean is μ [D]. Factor [K, D] has the rows √λ uᵀ and Variances [K] the eigenvalues λ of the
	// directions in which W is not nearly a multiple of the identity, the largest λ first.
	Mean, Factor, Variances []float32
	// Epsilon of the whitening.
	Epsilon float64
}

// Fit fits the whitening on training images. For CIFAR-10 it takes most of a minute, and a line of
// the log says so. The cache keeps the result under a hash of all that decides it.
//
// epsilon > 0 is added to every eigenvalue of the covariance of contrast-normalised images. The
// mean of those eigenvalues is nearly 55²/3072 ≈ 0.98 for CIFAR-10, so the 0.1 of Goodfellow 2013
// is a tenth of the mean variance of a value. The recipe has 3.
func Fit(
	ctx context.Context, backend compute.Backend, train Images, epsilon float64, log io.Writer,
) (*Whitening, error) {
	asked := fitted{&train.Pixels[0], train.Len(), train.Size(), epsilon, backend.Description()}
	latest.Lock()
	defer latest.Unlock()
	if latest.fitted == asked {
		return latest.whitening, nil
	}
	load := func(file string) *Whitening { return loadWhitening(file, train.Size(), epsilon) }
	create := func(file string) error {
		fmt.Fprintf(log, "fitting the whitening on %d images (a minute for CIFAR-10, once)\n",
			train.Len())
		w, err := fit(ctx, backend, train, epsilon)
		if err != nil {
			return err
		}
		return w.save(file)
	}
	key := whiteningKey(backend, train, epsilon)
	w, err := cache.LoadOrMake(ctx, "whitening", key, load, create)
	if err == nil {
		latest.fitted, latest.whitening = asked, w
	}
	return w, err
}

// fitted says what a whitening was fitted on in this process: the images by their place in memory.
type fitted struct {
	pixels      *byte
	count, size int
	epsilon     float64
	backend     string
}

// latest is the whitening that [Fit] returned last. All runs of a command share it: to hash the
// images and to read the file takes a second.
var latest struct {
	sync.Mutex
	fitted
	whitening *Whitening
}

// whiteningKey returns the hash of what decides a whitening, the processor too: with a pinned
// plugin to the last bit. Another plugin counts by its path and version alone, and a GPU not at
// all.
func whiteningKey(backend compute.Backend, train Images, epsilon float64) string {
	// The plugin, without what follows in brackets: how many devices it has.
	program, _, _ := strings.Cut(backend.Description(), " [")
	hash := sha256.New()
	fmt.Fprintf(hash, "version %d, images %d×%d×%d×%d, norm %v, epsilon %v, backend %s, "+
		"processor %s\n", whiteningVersion, train.Len(), train.Height, train.Width, train.Channels,
		contrastNorm, epsilon, program, cpuid.CPU.BrandName)
	if flags := os.Getenv("XLA_FLAGS"); flags != "" { // such as --xla_cpu_max_isa
		fmt.Fprintf(hash, "XLA_FLAGS %s\n", flags)
	}
	hash.Write(train.Pixels)
	return fmt.Sprintf("%x", hash.Sum(nil))
}

// save writes a whitening: the SHA-256 of what follows, then the mean, the two matrices, the factor
// and the variances in little-endian.
func (w *Whitening) save(file string) error {
	c := w.Carried
	numbers := slices.Concat(c.Mean, w.matrix, w.inverse, c.Factor, c.Variances)
	content, _ := binary.Append(nil, binary.LittleEndian, numbers) // numbers always fit
	sum := sha256.Sum256(content)
	folder, key := filepath.Split(file)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := safefile.RemoveUnfinished(folder, key); err != nil {
		return err
	}
	return safefile.Write(file, append(sum[:], content...))
}

// loadWhitening reads what save wrote: a whitening of images of d values, fitted with epsilon. It
// returns nil if the file is missing or damaged.
func loadWhitening(file string, d int, epsilon float64) *Whitening {
	fixed := d + 2*d*d
	content, err := safefile.Read(file, int64(sha256.Size+4*(fixed+d*(d+1))))
	if err != nil || len(content) < sha256.Size+4*fixed ||
		sha256.Sum256(content[sha256.Size:]) != [sha256.Size]byte(content) {
		return nil
	}
	numbers := make([]float32, (len(content)-sha256.Size)/4)
	binary.Decode(content[sha256.Size:], binary.LittleEndian, numbers) // of just that size
	take := func(count int) (taken []float32) {
		taken, numbers = numbers[:count], numbers[count:]
		return taken
	}
	w := &Whitening{Carried: Carried{Mean: take(d), Epsilon: epsilon}}
	w.matrix, w.inverse = take(d*d), take(d*d)
	w.Carried.Factor = take(len(numbers) / (d + 1) * d)
	w.Carried.Variances = numbers
	return w
}

// Whitening rebuilds a whitening from what goes with a network. In the directions that Factor lacks
// its matrix is a multiple of the identity, so it equals the original only nearly.
func (c Carried) Whitening(backend compute.Backend) (w *Whitening, err error) {
	d, k := len(c.Mean), len(c.Variances)
	err = exceptions.TryCatch[error](func() {
		both := MustExecOnceN(backend, func(factor, variances *Node) (matrix, inverse *Node) {
			factor = ConvertDType(factor, dtypes.Float64)
			variances = ConvertDType(variances, dtypes.Float64)
			matrix, inverse = matrices(factor, variances, c.Epsilon)
			return ConvertDType(matrix, dtypes.Float32), ConvertDType(inverse, dtypes.Float32)
		}, tensors.FromFlatDataAndDimensions(c.Factor, k, d),
			tensors.FromFlatDataAndDimensions(c.Variances, k, 1))
		w = &Whitening{Carried: c, matrix: tensors.MustCopyFlatData[float32](both[0]),
			inverse: tensors.MustCopyFlatData[float32](both[1])}
	})
	return w, err
}

// Apply whitens images of the size of those that w was fitted on: float32 [N, H, W, C]. It computes
// in float64, so that the result does not depend on how a backend rounds products of float32 (TF32
// on a GPU).
func (w *Whitening) Apply(backend compute.Backend, images Images) (*tensors.Tensor, error) {
	d := len(w.Carried.Mean)
	mean := tensors.FromFlatDataAndDimensions(w.Carried.Mean, 1, d)
	matrix := tensors.FromFlatDataAndDimensions(w.matrix, d, d)
	defer matrix.MustFinalizeAll() // see [eachChunk]
	return process(backend, images, func(inputs []*Node) *Node {
		pixels, mean, matrix := inputs[0], inputs[1], inputs[2]
		centred := Sub(normalizeContrast(pixels), ConvertDType(mean, dtypes.Float64))
		return MatMul(centred, ConvertDType(matrix, dtypes.Float64))
	}, mean, matrix)
}

// Inverse returns W⁻¹, float32 [D, D]: y W⁻¹ is g − μ, the contrast-normalised image less the mean
// of the training images.
func (w *Whitening) Inverse() *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(w.inverse, len(w.Carried.Mean), len(w.Carried.Mean))
}

// NormalizeContrast applies GCN alone, see [Whitening]: float32 [N, H, W, C].
func NormalizeContrast(backend compute.Backend, images Images) (*tensors.Tensor, error) {
	return process(backend, images, func(pixels []*Node) *Node { return normalizeContrast(pixels[0]) })
}

// process applies a graph of pixels uint8 [N, D] and constants to images, chunk by chunk, and
// returns its results as float32 [N, H, W, C].
func process(
	backend compute.Backend, images Images, graph func(inputs []*Node) *Node, constants ...any,
) (processed *tensors.Tensor, err error) {
	// On a CPU this is memory that XLA reads in place: a copy of 50,000 images would take 600 MB.
	processed, err = tensors.FromShapeForBackend(backend, 0, shapes.Make(dtypes.Float32,
		images.Len(), images.Height, images.Width, images.Channels))
	if err != nil {
		return nil, err
	}
	err = exceptions.TryCatch[error](func() {
		exec := MustNewExec(backend, func(inputs []*Node) *Node {
			return ConvertDType(graph(inputs), dtypes.Float32)
		})
		defer exec.Finalize()
		tensors.MustMutableFlatData(processed, func(rest []float32) {
			eachChunk(images, func(pixels *tensors.Tensor) {
				part := exec.MustCall1(append([]any{pixels}, constants...)...)
				tensors.MustConstFlatData(part, func(flat []float32) { rest = rest[copy(rest, flat):] })
				part.MustFinalizeAll()
			})
		})
	})
	if err != nil {
		return nil, errors.Join(err, processed.FinalizeAll())
	}
	return processed, nil
}

// normalizeContrast builds the graph of GCN: pixels uint8 [N, D] → float64 [N, D].
func normalizeContrast(pixels *Node) *Node {
	x := ConvertDType(pixels, dtypes.Float64)
	x = Sub(x, ReduceAndKeep(x, ReduceMean, 1))
	norm := Sqrt(ReduceAndKeep(Square(x), ReduceSum, 1))
	// An image of one value is all zeros by now, and stays so.
	norm = Where(LessThan(norm, Scalar(x.Graph(), dtypes.Float64, minNorm)), OnesLike(norm), norm)
	return MulScalar(Div(x, norm), contrastNorm)
}

// eachChunk calls do with images as tensors uint8 [chunk, D] or smaller, and frees them at once:
// the garbage collector does not see how much of a device's memory they hold.
func eachChunk(images Images, do func(pixels *tensors.Tensor)) {
	for from := 0; from < images.Len(); from += chunk {
		part := images.Slice(from, min(from+chunk, images.Len()))
		pixels := tensors.FromFlatDataAndDimensions(part.Pixels, part.Len(), part.Size())
		do(pixels)
		pixels.MustFinalizeAll()
	}
}
