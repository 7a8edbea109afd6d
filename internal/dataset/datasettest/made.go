// Package datasettest makes data sets for tests, so that they need no download.
package datasettest

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawPatterns draws a coarse pattern of that many values for each of ten classes.
func drawPatterns(rng *rand.Rand, size int, mean, deviation float64) (patterns [10][]float64) {
	for class := range patterns {
		for range size {
			patterns[class] = append(patterns[class], mean+deviation*rng.NormFloat64())
		}
	}
	return patterns
}

// plane appends a colour of an image, side×side values, each that of its cell in a pattern of cells×cells, and noise.
func plane(image []byte, side, cells int, pattern []float64, noise func() float64) []byte {
	for at := range side * side {
		value := pattern[at/side*cells/side*cells+at%side*cells/side]
		image = append(image, byte(max(0, min(255, value+noise()))))
	}
	return image
}

// CIFAR10 writes a data set in CIFAR-10's layout and size to a temporary folder, which it returns: ten classes, each a coarse
// pattern, under noise in the images that profile smoke reads.
func CIFAR10(t testing.TB) string {
	rng := rand.New(rand.NewPCG(3, 4))
	patterns := drawPatterns(rng, 48, 128, 40)
	folder := filepath.Join(t.TempDir(), "cifar-10-batches-bin")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, name := range []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"} {
		var records []byte
		for i := range 10000 {
			noise := func() float64 { return 5 * rng.NormFloat64() }
			if i >= 2000 { // profile smoke reads only the first images of each file
				noise = func() float64 { return 0 }
			}
			records = append(records, byte(i%10))
			for pattern := range slices.Chunk(patterns[i%10], 16) {
				records = plane(records, 32, 4, pattern, noise)
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), records, 0o644))
	}
	return filepath.Dir(folder)
}

// MNIST writes files in MNIST's layout to a folder, with that many images each for training and for tests: ten classes, each
// a coarse pattern under noise.
func MNIST(t testing.TB, folder string, images int) {
	rng := rand.New(rand.NewPCG(5, 6))
	patterns := drawPatterns(rng, 49, 0, 80)
	for _, part := range []string{"train", "t10k"} {
		count := binary.BigEndian.AppendUint32(nil, uint32(images))
		pixels, labels := slices.Concat([]byte{0, 0, 8, 3}, count, []byte{0, 0, 0, 28, 0, 0, 0, 28}), slices.Concat([]byte{0, 0, 8, 1}, count)
		for i := range images {
			labels = append(labels, byte(i%10))
			pixels = plane(pixels, 28, 7, patterns[i%10], func() float64 { return 20 * rng.NormFloat64() })
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, part+"-images-idx3-ubyte"), pixels, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(folder, part+"-labels-idx1-ubyte"), labels, 0o644))
	}
}
