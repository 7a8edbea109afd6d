package dataset

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"ebsscgo/internal/device"
)

// epsilon is that of Goodfellow 2013.
const epsilon = 0.1

// open starts the backend once for all tests. It must come before a test moves the cache, where its plugin may be.
var open = sync.OnceValues(func() (compute.Backend, error) {
	opened, _, err := device.Open(context.Background(), "", 1)
	return opened, err
})

func testBackend(t *testing.T) compute.Backend {
	t.Helper()
	opened, err := open()
	require.NoError(t, err)
	return opened
}

// cloudImages are n random images of 4×4×3 whose neighbouring values are alike, as they are in pictures.
func cloudImages(n int) Images {
	random := rand.New(rand.NewPCG(1, 2))
	images := Images{Height: 4, Width: 4, Channels: 3, Labels: make([]uint8, n)}
	for range n {
		value := 128.0
		for range images.Size() {
			value = 128 + 0.8*(value-128) + 20*random.NormFloat64()
			images.Pixels = append(images.Pixels, uint8(min(max(value, 0), 255)))
		}
	}
	return images
}

// contrastNormalized is GCN written as a plain loop, [N, D].
func contrastNormalized(images Images) *mat.Dense {
	d := images.Size()
	x := mat.NewDense(images.Len(), d, nil)
	for n := range images.Len() {
		mean, square := 0.0, 0.0
		for i := range d {
			mean += float64(images.Pixels[n*d+i]) / float64(d)
		}
		for i := range d {
			square += math.Pow(float64(images.Pixels[n*d+i])-mean, 2)
		}
		for i := range d {
			if square > 0 {
				x.Set(n, i, (float64(images.Pixels[n*d+i])-mean)*55/math.Sqrt(square))
			}
		}
	}
	return x
}

// centredCovariance returns the rows of x without their mean, and their covariance.
func centredCovariance(x *mat.Dense) (centred, covariance *mat.Dense) {
	n, d := x.Dims()
	centred, covariance = mat.DenseCopyOf(x), mat.NewDense(d, d, nil)
	for i := range d {
		mean := mat.Sum(x.ColView(i)) / float64(n)
		for k := range n {
			centred.Set(k, i, x.At(k, i)-mean)
		}
	}
	covariance.Mul(centred.T(), centred)
	covariance.Scale(1/float64(n), covariance)
	return centred, covariance
}

// dense is a matrix of that many columns in float64.
func dense(values []float32, columns int) *mat.Dense {
	m := mat.NewDense(len(values)/columns, columns, nil)
	for i, value := range values {
		m.Set(i/columns, i%columns, float64(value))
	}
	return m
}

// square is the matrix W of a whitening.
func (w *Whitening) square() *mat.Dense { return dense(w.matrix, len(w.mean)) }

// applied is the result of Apply as a matrix [N, D].
func applied(t *testing.T, w *Whitening, images Images) *mat.Dense {
	t.Helper()
	whitened, err := w.Apply(testBackend(t), images)
	require.NoError(t, err)
	return flattened(t, whitened, images)
}

// flattened is what images became as a matrix [N, D].
func flattened(t *testing.T, processed *tensors.Tensor, images Images) *mat.Dense {
	t.Helper()
	require.Equal(t, []int{images.Len(), images.Height, images.Width, images.Channels}, processed.Shape().Dimensions)
	return dense(tensors.MustCopyFlatData[float32](processed), images.Size())
}

// requireClose compares matrices entry by entry.
func requireClose(t require.TestingT, want, got mat.Matrix, tolerance float64, message string) {
	var difference mat.Dense
	difference.Sub(want, got)
	largest := math.Max(mat.Max(&difference), -mat.Min(&difference))
	require.False(t, math.IsNaN(largest), message)
	require.LessOrEqual(t, largest, tolerance, message)
}

func TestContrastNormalization(t *testing.T) {
	images := cloudImages(20)
	copy(images.Pixels, make([]byte, images.Size())) // the first has no contrast
	got, err := NormalizeContrast(testBackend(t), images)
	require.NoError(t, err)
	x := flattened(t, got, images)
	requireClose(t, contrastNormalized(images), x, 1e-5, "GCN")
	require.Zero(t, mat.Norm(x.RowView(0), 2))
	for n := 1; n < images.Len(); n++ {
		require.InDelta(t, 0, mat.Sum(x.RowView(n)), 1e-4, "mean")
		require.InDelta(t, 55, mat.Norm(x.RowView(n), 2), 1e-4, "norm")
	}
}

// W (C + ε I) W = I says all of W but its sign; C is computed here from the formulas.
func TestWhiteningMatrix(t *testing.T) {
	for name, n := range map[string]int{"more images than values": 300, "as many": 48, "fewer": 20, "two": 2} {
		for _, epsilon := range []float64{0.01, 0.1, 3} {
			images := cloudImages(n)
			w, err := fit(t.Context(), testBackend(t), images, epsilon)
			require.NoError(t, err)
			_, covariance := centredCovariance(contrastNormalized(images))
			identity, biased := mat.NewDiagDense(48, nil), mat.DenseCopyOf(covariance)
			for i := range 48 {
				identity.SetDiag(i, 1)
				biased.Set(i, i, biased.At(i, i)+epsilon)
			}
			var product, restored mat.Dense
			product.Product(w.square(), biased, w.square())
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

// With next to no ε the covariance becomes the identity: on what GCN leaves, which is all but an image's mean.
func TestWhiteningMakesTheCovarianceTheIdentity(t *testing.T) {
	images := cloudImages(3000)
	w, err := fit(t.Context(), testBackend(t), images, 1e-4)
	require.NoError(t, err)
	_, after := centredCovariance(applied(t, w, images))
	want := mat.NewDense(48, 48, nil)
	for i := range 48 {
		for j := range 48 {
			want.Set(i, j, -1.0/48)
		}
		want.Set(i, i, 1-1.0/48)
	}
	requireClose(t, want, after, 1e-3, "covariance")
}

func TestGramPathEqualsCovariancePath(t *testing.T) {
	for _, n := range []int{2, 30, 48, 100} {
		images := cloudImages(n)
		var means [2][]float64
		var whitening, inverses [2][]float32
		for i, products := range []func(context.Context, compute.Backend, Images) ([]*tensors.Tensor, error){covariance, gram} {
			of, err := products(t.Context(), testBackend(t), images)
			require.NoError(t, err)
			means[i] = tensors.MustCopyFlatData[float64](of[0])
			whitening[i], inverses[i], err = matrices(t.Context(), testBackend(t), epsilon, of[1], of[2:]...)
			require.NoError(t, err)
		}
		require.InDeltaSlice(t, means[0], means[1], 1e-12)
		require.InDeltaSlice(t, whitening[0], whitening[1], 1e-6)
		require.InDeltaSlice(t, inverses[0], inverses[1], 1e-5)
	}
}

func TestApply(t *testing.T) {
	images := cloudImages(chunk + 3) // more than go through the backend at once
	train := images.Slice(0, 100)
	w, err := fit(t.Context(), testBackend(t), train, epsilon)
	require.NoError(t, err)
	x := contrastNormalized(images)
	mean := mat.NewDense(1, 48, nil)
	for i := range 48 {
		mean.Set(0, i, mat.Sum(contrastNormalized(train).ColView(i))/100)
	}
	var want mat.Dense
	centred := mat.NewDense(images.Len(), 48, nil)
	for n := range images.Len() {
		for i := range 48 {
			centred.Set(n, i, x.At(n, i)-mean.At(0, i))
		}
	}
	want.Mul(centred, w.square())
	requireClose(t, &want, applied(t, w, images), 1e-4, "(g − μ) W")

	_, err = w.Apply(testBackend(t), Images{Height: 4, Width: 5, Channels: 3})
	requireOneLine(t, err, "4×5×3")
	_, err = w.Apply(testBackend(t), images.Slice(0, 0))
	requireOneLine(t, err)
}

// Values that are the same in all images, as in the border of padded digits, must not make anything infinite.
func TestWhiteningOfConstantImages(t *testing.T) {
	for name, pixels := range map[string][]uint8{"black": make([]uint8, 60*48), "alike": nil} {
		images := cloudImages(60)
		if pixels != nil {
			images.Pixels = pixels
		}
		for n := range images.Len() {
			copy(images.Pixels[n*48:], images.Pixels[:48])
		}
		w, err := fit(t.Context(), testBackend(t), images, epsilon)
		require.NoError(t, err, name)
		requireClose(t, mat.NewDense(60, 48, nil), applied(t, w, images), 1e-4, name)
	}
}

func TestWhiteningIsCached(t *testing.T) {
	engine := testBackend(t)
	t.Setenv("EBSSC_CACHE", t.TempDir())
	images := cloudImages(60)
	fresh, err := Fit(t.Context(), engine, images, epsilon)
	require.NoError(t, err)
	direct, err := fit(t.Context(), engine, images, epsilon)
	require.NoError(t, err)
	require.Equal(t, direct, fresh)

	dir := filepath.Join(os.Getenv("EBSSC_CACHE"), "whitening")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	file := filepath.Join(dir, files[0].Name())
	stored, err := os.ReadFile(file)
	require.NoError(t, err)

	// A file that was changed with a valid checksum shows that it is read.
	other := *fresh
	other.mean = append([]float32{42}, fresh.mean[1:]...)
	require.NoError(t, other.save(file))
	got, err := Fit(t.Context(), engine, images, epsilon)
	require.NoError(t, err)
	require.Equal(t, &other, got)

	for name, broken := range map[string][]byte{
		"empty": {}, "cut": stored[:len(stored)-4], "longer": append(stored[:len(stored):len(stored)], 0, 0, 0, 0),
		"a changed value": changed(stored, 100, stored[100]^1), "a changed sum": changed(stored, 3, stored[3]^1),
	} {
		require.NoError(t, os.WriteFile(file, broken, 0o644))
		got, err := Fit(t.Context(), engine, images, epsilon)
		require.NoError(t, err, name)
		require.Equal(t, fresh, got, name)
		again, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, stored, again, "%s: made anew", name)
	}
}

func TestWhiteningKey(t *testing.T) {
	engine := testBackend(t)
	images := cloudImages(60)
	key := whiteningKey(engine, images, epsilon)
	require.Equal(t, key, whiteningKey(engine, cloudImages(60), epsilon))
	keys := map[string]bool{key: true}
	differ := func(why string, images Images, epsilon float64) {
		other := whiteningKey(engine, images, epsilon)
		require.False(t, keys[other], why)
		keys[other] = true
	}
	differ("fewer images", images.Slice(0, 59), epsilon)
	differ("another ε", images, 0.2)
	pixel := images
	pixel.Pixels = changed(images.Pixels, 60*48-1, images.Pixels[60*48-1]+1)
	differ("a pixel", pixel, epsilon)
	tall := images
	tall.Height, tall.Width = 8, 2
	differ("another shape", tall, epsilon)
}

func TestFitStops(t *testing.T) {
	engine := testBackend(t)
	t.Setenv("EBSSC_CACHE", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range []int{20, 60} {
		_, err := Fit(ctx, engine, cloudImages(n), epsilon)
		require.ErrorIs(t, err, context.Canceled)
	}
	_, err := Fit(t.Context(), engine, cloudImages(0), epsilon)
	requireOneLine(t, err, "no images")
}
