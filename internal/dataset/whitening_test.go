package dataset

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"ebsscgo/internal/device"
	"ebsscgo/internal/device/devicetest"
	"ebsscgo/internal/filetest"
)

func TestMain(m *testing.M) {
	devicetest.CompileFast()
	os.Exit(m.Run())
}

// epsilon is that of Goodfellow 2013.
const epsilon = 0.1

// open starts the backend once for all tests. It must come before a test moves the cache, where its
// plugin may be.
var open = sync.OnceValues(func() (compute.Backend, error) {
	opened, _, err := device.Open(context.Background(), "")
	return opened, err
})

// testBackend returns the backend of all tests.
func testBackend(t *testing.T) compute.Backend {
	t.Helper()
	opened, err := open()
	require.NoError(t, err)
	return opened
}

// cloudImages makes n random images of 4×4×3 whose neighbouring values are alike, as they are in
// pictures.
func cloudImages(n int) Images {
	random := rand.New(rand.NewPCG(1, 2))
	images := Images{Height: 4, Width: 4, Channels: 3, Labels: make([]uint16, n)}
	for range n {
		value := 128.0
		for range images.Size() {
			value = 128 + 0.8*(value-128) + 20*random.NormFloat64()
			images.Pixels = append(images.Pixels, uint8(min(max(value, 0), 255)))
		}
	}
	return images
}

// contrastNormalized computes GCN in gonum, [N, D].
func contrastNormalized(images Images) *mat.Dense {
	x := mat.NewDense(images.Len(), images.Size(), nil)
	for n, pixels := range slices.Collect(slices.Chunk(images.Pixels, images.Size())) {
		row := x.RawRowView(n)
		for i, pixel := range pixels {
			row[i] = float64(pixel)
		}
		floats.AddConst(-stat.Mean(row, nil), row)
		if norm := floats.Norm(row, 2); norm > 0 {
			floats.Scale(55/norm, row)
		}
	}
	return x
}

// dense returns a matrix of that many columns in float64.
func dense(values []float32, columns int) *mat.Dense {
	m := mat.NewDense(len(values)/columns, columns, nil)
	for i, value := range values {
		m.Set(i/columns, i%columns, float64(value))
	}
	return m
}

// square returns the matrix W of a whitening.
func (w *Whitening) square() *mat.Dense { return dense(w.matrix, len(w.Carried.Mean)) }

// applied returns the result of Apply as a matrix [N, D].
func applied(t *testing.T, w *Whitening, images Images) *mat.Dense {
	whitened, err := w.Apply(testBackend(t), images)
	require.NoError(t, err)
	return dense(tensors.MustCopyFlatData[float32](whitened), 48)
}

// requireClose compares matrices entry by entry.
func requireClose(t require.TestingT, want, got mat.Matrix, tolerance float64, message string) {
	var difference mat.Dense
	difference.Sub(want, got)
	largest := math.Max(mat.Max(&difference), -mat.Min(&difference))
	require.False(t, math.IsNaN(largest), message)
	require.LessOrEqual(t, largest, tolerance, message)
}

// A whitening that goes with a network is that of the training images, but for directions in which
// it is nearly a multiple of the identity: whitened images hardly move, and the inverse brings them
// back.
func TestCarried(t *testing.T) {
	for name, epsilon := range map[string]float64{"few directions": 3, "most directions": 0.01} {
		images := cloudImages(300)
		w, err := fit(t.Context(), testBackend(t), images, epsilon)
		require.NoError(t, err)
		carried := w.Carried
		require.Len(t, carried.Factor, len(carried.Variances)*images.Size())
		again, err := carried.Whitening(testBackend(t))
		require.NoError(t, err)
		var moved, back mat.Dense
		want, got := applied(t, w, images), applied(t, again, images)
		moved.Sub(want, got)
		require.Less(t, mat.Norm(&moved, 2), 1.1*carriedError*mat.Norm(want, 2), name)
		require.Equal(t, w.Carried.Mean, again.Carried.Mean)
		back.Mul(got, dense(tensors.MustCopyFlatData[float32](again.Inverse()), len(w.Carried.Mean)))
		back.Mul(&back, again.square())
		requireClose(t, got, &back, 1e-3, name)
	}
	require.Equal(t, 1, keptDirections([]float64{100, 1e-9, 1e-9}, 3))
	require.Equal(t, 1, keptDirections([]float64{0, 0}, 3), "one at least")
}

func TestContrastNormalization(t *testing.T) {
	images := cloudImages(20)
	clear(images.Pixels[:images.Size()]) // the first has no contrast
	got, err := NormalizeContrast(testBackend(t), images)
	require.NoError(t, err)
	require.Equal(t, []int{20, 4, 4, 3}, got.Shape().Dimensions)
	x := dense(tensors.MustCopyFlatData[float32](got), 48)
	requireClose(t, contrastNormalized(images), x, 1e-5, "GCN")
	require.Zero(t, mat.Norm(x.RowView(0), 2))
}

// W (C + ε I) W = I says all of W but its sign; C is computed here from the formulas.
func TestWhiteningMatrix(t *testing.T) {
	for name, n := range map[string]int{"more images than values": 300, "as many": 48, "two": 2} {
		for _, epsilon := range []float64{0.01, 3} {
			images := cloudImages(n)
			w, err := fit(t.Context(), testBackend(t), images, epsilon)
			require.NoError(t, err)
			var biased mat.SymDense
			stat.CovarianceMatrix(&biased, contrastNormalized(images), nil)
			biased.ScaleSym(float64(n-1)/float64(n), &biased)
			identity := mat.NewDiagDense(48, nil)
			for i := range 48 {
				identity.SetDiag(i, 1)
				biased.SetSym(i, i, biased.At(i, i)+epsilon)
			}
			var product, restored mat.Dense
			product.Product(w.square(), &biased, w.square())
			requireClose(t, identity, &product, 1e-4, name+": W (C + εI) W")
			requireClose(t, w.square().T(), w.square(), 1e-6, name+": W is symmetric")
			var eigen mat.Eigen
			require.True(t, eigen.Factorize(w.square(), mat.EigenNone))
			for _, value := range eigen.Values(nil) {
				require.Positive(t, real(value), "%s: W is positive: ZCA, not another rotation of it", name)
			}
			require.Equal(t, []int{48, 48}, w.Inverse().Shape().Dimensions)
			restored.Mul(w.square(), dense(tensors.MustCopyFlatData[float32](w.Inverse()), 48))
			requireClose(t, identity, &restored, 1e-5, name+": W W⁻¹")
		}
	}
}

func TestApply(t *testing.T) {
	images := cloudImages(chunk + 3) // more than go through the backend at once
	train := images.Slice(0, 100)
	w, err := fit(t.Context(), testBackend(t), train, epsilon)
	require.NoError(t, err)
	want := contrastNormalized(images)
	for i := range 48 {
		mean := mat.Sum(contrastNormalized(train).ColView(i)) / 100
		for n := range images.Len() {
			want.Set(n, i, want.At(n, i)-mean)
		}
	}
	want.Mul(mat.DenseCopyOf(want), w.square())
	requireClose(t, want, applied(t, w, images), 1e-4, "(g − μ) W")
}

// Values that are the same in all images, as in the border of padded digits, must not make anything
// infinite.
func TestWhiteningOfConstantImages(t *testing.T) {
	alike, black := cloudImages(60), cloudImages(60)
	clear(black.Pixels)
	for n := range alike.Len() {
		copy(alike.Pixels[n*48:], alike.Pixels[:48])
	}
	for _, images := range []Images{alike, black} {
		w, err := fit(t.Context(), testBackend(t), images, epsilon)
		require.NoError(t, err)
		requireClose(t, mat.NewDense(60, 48, nil), applied(t, w, images), 1e-4, "zeros")
	}
}

func TestWhiteningIsCached(t *testing.T) {
	engine := testBackend(t)
	t.Setenv("EBSSC_CACHE", t.TempDir())
	images := cloudImages(60)
	direct, err := fit(t.Context(), engine, images, epsilon)
	require.NoError(t, err)
	fits := func() (w *Whitening, log string) {
		var lines bytes.Buffer
		latest.fitted = fitted{} // as in another process
		w, err := Fit(t.Context(), engine, images, epsilon, &lines)
		require.NoError(t, err)
		again, err := Fit(t.Context(), engine, images, epsilon, &lines)
		require.NoError(t, err)
		require.Same(t, w, again)
		return w, lines.String()
	}
	fresh, log := fits()
	require.Equal(t, direct, fresh)
	require.Equal(t, "fitting the whitening on 60 images (a minute for CIFAR-10, once)\n", log)
	file := filepath.Join(os.Getenv("EBSSC_CACHE"), "whitening", whiteningKey(engine, images, epsilon))
	stored := []byte(filetest.Read(t, file))

	// A file that was changed with a valid checksum shows that it is read.
	other := *fresh
	other.Carried.Mean = append([]float32{42}, fresh.Carried.Mean[1:]...)
	require.NoError(t, other.save(file))
	got, log := fits()
	require.Equal(t, &other, got)
	require.Empty(t, log, "nothing is fitted")

	for name, broken := range map[string][]byte{
		"empty":           {},
		"cut":             stored[:len(stored)-4],
		"longer":          append(stored[:len(stored):len(stored)], 0, 0, 0, 0),
		"a changed value": changed(stored, 100, stored[100]^1),
		"a changed sum":   changed(stored, 3, stored[3]^1),
	} {
		filetest.Write(t, file, broken)
		require.Nil(t, loadWhitening(file, 48, epsilon), name)
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, syscall.Mkfifo(file, 0o644))
	killed := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+"123") // while it was written
	filetest.Write(t, killed, "")
	got, _ = fits()
	require.NoFileExists(t, killed)
	require.Equal(t, fresh, got, "a pipe is not waited for")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Fit(ctx, engine, cloudImages(20), epsilon, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
}

func TestWhiteningKey(t *testing.T) {
	engine, images := testBackend(t), cloudImages(60)
	pixel, tall := images, images
	pixel.Pixels = changed(images.Pixels, 60*48-1, images.Pixels[60*48-1]+1)
	tall.Height, tall.Width = 8, 2
	keys := map[string]bool{whiteningKey(engine, images, 0.2): true}
	for _, other := range []Images{images, cloudImages(60), images.Slice(0, 59), pixel, tall} {
		keys[whiteningKey(engine, other, epsilon)] = true
	}
	require.Len(t, keys, 5, "the same images have the same key")
}
