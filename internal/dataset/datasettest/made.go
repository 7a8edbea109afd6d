// Package datasettest makes data sets for tests, so that they need no download.
package datasettest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"ebsscgo/internal/filetest"
)

// draw draws images of ten classes in turn, plane after plane of side×side values: each a coarse
// pattern of its class, cells×cells values a plane, under noise.
func draw(
	rng *rand.Rand, images, planes, side, cells int, mean, deviation, noise float64,
) (drawn [][]byte) {
	var patterns [10][]float64
	for class := range patterns {
		for range planes * cells * cells {
			patterns[class] = append(patterns[class], mean+deviation*rng.NormFloat64())
		}
	}
	for i := range images {
		var image []byte
		for at := range planes * side * side {
			cell := (at/side/side*cells+at/side%side*cells/side)*cells + at%side*cells/side
			image = append(image, byte(max(0, min(255, patterns[i%10][cell]+noise*rng.NormFloat64()))))
		}
		drawn = append(drawn, image)
	}
	return drawn
}

// CIFAR10 writes a data set in CIFAR-10's layout and size to a temporary folder, which it returns.
// Each file repeats its first 1,000 images, as many as profile smoke reads, and all files of
// training images are the same.
func CIFAR10(t testing.TB) string {
	folder, images := t.TempDir(), draw(rand.New(rand.NewPCG(3, 4)), 2000, 3, 32, 4, 128, 40, 5)
	names := []string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
		"data_batch_5.bin", "test_batch.bin"}
	for file, name := range names {
		var records []byte
		for i, image := range images[file/5*1000:][:1000] {
			records = append(append(records, byte(i%10)), image...)
		}
		filetest.Write(t, filepath.Join(folder, name), bytes.Repeat(records, 10))
	}
	return folder
}

// MNIST writes files in MNIST's layout to a folder, which it makes, with that many images, a
// multiple of ten, each for training and for tests.
func MNIST(t testing.TB, folder string, images int) {
	drawn := draw(rand.New(rand.NewPCG(5, 6)), 2*images, 1, 28, 7, 0, 80, 20)
	count := binary.BigEndian.AppendUint32(nil, uint32(images))
	for part, name := range []string{"train", "t10k"} {
		digits := bytes.Repeat([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, images/10)
		labels := slices.Concat([]byte{0, 0, 8, 1}, count, digits)
		pixels := slices.Concat([]byte{0, 0, 8, 3}, count, []byte{0, 0, 0, 28, 0, 0, 0, 28},
			slices.Concat(drawn[part*images:][:images]...))
		filetest.Write(t, filepath.Join(folder, name+"-labels-idx1-ubyte"), labels)
		filetest.Write(t, filepath.Join(folder, name+"-images-idx3-ubyte"), pixels)
	}
}
