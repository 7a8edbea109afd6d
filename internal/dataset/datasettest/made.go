// Package datasettest makes data sets for tests, so that they need no download.
package datasettest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawPatterns draws a coarse pattern of that many values for each of ten classes.
func drawPatterns(rng *rand.Rand, size int) (patterns [10][]float64) {
	for class := range patterns {
		for range size {
			patterns[class] = append(patterns[class], rng.NormFloat64())
		}
	}
	return patterns
}

// CIFAR10 writes a data set in CIFAR-10's layout and size to a temporary folder, which it returns: ten classes, each a coarse
// pattern, under noise in the images that profile smoke reads.
func CIFAR10(t testing.TB) string {
	rng := rand.New(rand.NewPCG(3, 4))
	patterns := drawPatterns(rng, 48)
	record := make([]byte, 0, 3073)
	folder := filepath.Join(t.TempDir(), "cifar-10-batches-bin")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, name := range []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"} {
		var text bytes.Buffer
		for i := range 10000 {
			class := i % 10
			record = append(record[:0], byte(class))
			for c := range 3 {
				for y := range 32 {
					for x := range 32 {
						value := 128 + 40*patterns[class][c*16+y/8*4+x/8]
						// Profile smoke reads only the first images of each file.
						if i < 2000 {
							value += 5 * rng.NormFloat64()
						}
						record = append(record, byte(max(0, min(255, value))))
					}
				}
			}
			text.Write(record)
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o644))
	}
	return filepath.Dir(folder)
}

// MNIST writes files in MNIST's layout to a folder, with that many images each for training and for tests: ten classes, each
// a coarse pattern under noise.
func MNIST(t testing.TB, folder string, images int) {
	rng := rand.New(rand.NewPCG(5, 6))
	patterns := drawPatterns(rng, 49)
	write := func(name string, content []byte, sizes ...uint32) {
		var text bytes.Buffer
		require.NoError(t, binary.Write(&text, binary.BigEndian, append([]uint32{0x800 + uint32(len(sizes))}, sizes...)))
		text.Write(content)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text.Bytes(), 0o644))
	}
	for _, part := range []string{"train", "t10k"} {
		var pixels, labels []byte
		for i := range images {
			class := i % 10
			labels = append(labels, byte(class))
			for y := range 28 {
				for x := range 28 {
					value := 80*patterns[class][y/4*7+x/4] + 20*rng.NormFloat64()
					pixels = append(pixels, byte(max(0, min(255, value))))
				}
			}
		}
		write(part+"-images-idx3-ubyte", pixels, uint32(images), 28, 28)
		write(part+"-labels-idx1-ubyte", labels, uint32(images))
	}
}
