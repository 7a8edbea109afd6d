package dataset

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
)

// Names of data sets.
const (
	CIFAR10Name        = "cifar10"
	CIFAR10JPEGName    = "cifar10-jpeg"
	CIFAR10UnknownName = "cifar10-unknown"
	MNISTName          = "mnist"
	MNISTUnknownName   = "mnist-unknown"
	MNIST32Name        = "mnist32"
	MNIST32UnknownName = "mnist32-unknown"
)

func TestPadded32(t *testing.T) {
	grey := Images{Height: 28, Width: 28, Channels: 1,
		Pixels: make([]uint8, 3*28*28), Labels: []uint16{7, 0, 9}}
	for i := range grey.Pixels {
		grey.Pixels[i] = uint8(i) + uint8(i>>8)*31 // no two rows or images are alike
	}
	set := &Set{Name: MNISTName, SHA256: "f", Train: grey, Test: grey.Slice(1, 3)}
	padded := set.Padded32()
	require.Equal(t, []string{MNIST32Name, "f"}, []string{padded.Name, padded.SHA256})
	both := map[*Images]Images{&set.Train: padded.Train, &set.Test: padded.Test}
	for original, images := range both {
		require.Equal(t, original.Labels, images.Labels)
		require.Len(t, images.Pixels, original.Len()*32*32*3)
		for at, value := range images.Pixels {
			n, y, x, want := at/3/32/32, at/3/32%32-2, at/3%32-2, uint8(0)
			if y >= 0 && y < 28 && x >= 0 && x < 28 {
				want = original.Pixels[(n*28+y)*28+x]
			}
			if value != want {
				t.Fatalf("image %d, row %d, column %d: %d, want %d", n, y, x, value, want)
			}
		}
	}
	set.Name = MNISTUnknownName
	require.Equal(t, MNIST32UnknownName, set.Padded32().Name, "what is not MNIST is not labelled so")
}

// Every declared data set has a decoder, and names of as many classes as are asked for.
func TestDeclaredDataSets(t *testing.T) {
	require.Len(t, decoders, len(experiments.DataSets))
	for _, images := range experiments.DataSets {
		d := decoders[images.Kind]
		require.NotEmpty(t, d.layouts, images.Kind)
		require.NotZero(t, d.training, images.Kind)
		require.Equal(t, images.Classes, ClassesOf(images.Unknown(), len(images.Classes)))
	}
	require.Equal(t, []string{"0", "1", "2"}, ClassesOf(CIFAR10Name, 3), "which are no three of ten")
	require.Equal(t, []string{"0", "1"}, ClassesOf("another", 2))
}

func TestFolder(t *testing.T) {
	for dataset, folder := range map[string]string{
		CIFAR10JPEGName: "quick", MNISTName: "quick", CIFAR10Name: "quick-cifar10",
		CIFAR10UnknownName: "quick-cifar10-unknown", MNIST32Name: "quick-mnist32",
	} {
		require.Equal(t, folder, Folder("quick", dataset))
	}
}

// declaredNames returns all names of data sets that declarations give.
func declaredNames() (names []string) {
	for _, images := range experiments.DataSets {
		names = append(names, images.Unknown())
		for _, c := range images.Copies {
			names = append(names, c.Name)
		}
		if images.Padded != "" {
			names = append(names, images.Padded, images.Padded+"-unknown")
		}
	}
	return names
}

// requireOneLine requires what every error should be: one line, which names what is wrong.
func requireOneLine(t *testing.T, err error, contains ...string) {
	t.Helper()
	require.Error(t, err)
	require.False(t, strings.Contains(err.Error(), "\n"), "not one line: %v", err)
	for _, part := range contains {
		require.ErrorContains(t, err, part)
	}
}

// changed returns a copy of content with one byte changed.
func changed(content []byte, at int, to byte) []byte {
	content = bytes.Clone(content)
	content[at] = to
	return content
}

// Only CIFAR-10 and its JPEG copy show the same pictures, as many; of unknown bytes nothing is
// known.
func TestCopies(t *testing.T) {
	type set = experiments.Dataset
	copies := func(a, b string) bool { return Copies(set{Name: a}, set{Name: b}) }
	for _, a := range declaredNames() {
		require.Equal(t, a == CIFAR10JPEGName, copies(a, CIFAR10Name), a)
		require.Equal(t, a == CIFAR10Name, copies(CIFAR10JPEGName, a), a)
		require.False(t, copies(a, a), a)
		require.False(t, copies(a, CIFAR10UnknownName), a)
	}
	require.False(t, Copies(set{Name: CIFAR10Name, Train: 10}, set{Name: CIFAR10JPEGName, Train: 20}))
}
