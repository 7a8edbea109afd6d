package dataset

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/experiments"
)

// Title returns the name of a data set for readers: the name itself if it is not declared.
func Title(name string) string { return cmp.Or(experiments.NamedImages(name).Title, name) }

// Copies reports whether two data sets are the same pictures and labels in different bytes:
// CIFAR-10 and its JPEG copy. Results on them are never put together, but a network trained on one
// can be shown the other's pictures.
func Copies(a, b experiments.Dataset) bool {
	first, second := experiments.NamedImages(a.Name), experiments.NamedImages(b.Name)
	return first.Genuine && second.Genuine && first.Kind == second.Kind && a.Name != b.Name &&
		a.Train == b.Train && a.Test == b.Test
}

// Folder returns the folder below results/ for a profile's results on the data set of that name:
// "quick" for the images of the committed results, and "quick-mnist32" for others. Results on
// different images never mix.
func Folder(profile, dataset string) string {
	if experiments.NamedImages(dataset).Committed {
		return profile
	}
	return profile + "-" + dataset
}

// ClassesOf returns the names of the classes of a data set that has count: numbers if it is not
// declared with so many.
func ClassesOf(name string, count int) (classes []string) {
	if declared := experiments.NamedImages(name).Classes; len(declared) == count {
		return declared
	}
	for class := range count {
		classes = append(classes, strconv.Itoa(class))
	}
	return classes
}

// Set is a data set with its authors' split.
type Set struct {
	// Name is one that [experiments.NamedImages] knows. Only fingerprints decide which one a set gets.
	Name string
	// SHA256 is the fingerprint of the images and labels in lower-case hexadecimal, whatever layout
	// they were read from: the SHA-256 of the list that sha256sum prints for the official files with
	// them, unzipped, by their official names and in their official order, as in
	//
	//	sha256sum {train,t10k}-{images-idx3,labels-idx1}-ubyte | sha256sum
	SHA256 string
	// Classes are the names of the classes by label.
	Classes []string
	// Train and Test are the images.
	Train, Test Images
}

// Dataset describes the set to experiments.Plan.
func (s *Set) Dataset() experiments.Dataset {
	return experiments.Dataset{Name: s.Name, SHA256: s.SHA256,
		Train: s.Train.Len(), Test: s.Test.Len()}
}

// Images are labelled images of one size.
type Images struct {
	// Height, Width and Channels of each image.
	Height, Width, Channels int
	// Pixels are all images, [N, Height, Width, Channels] in row-major order, channels last.
	Pixels []uint8
	// Labels are the classes of the images, [N].
	Labels []uint16
}

// Len returns the number of images.
func (i Images) Len() int { return len(i.Labels) }

// Size returns the number of values in one image, Height · Width · Channels.
func (i Images) Size() int { return i.Height * i.Width * i.Channels }

// Slice returns the images from number from to number to, without the latter. They share memory
// with i.
func (i Images) Slice(from, to int) Images {
	i.Pixels = i.Pixels[from*i.Size() : to*i.Size()]
	i.Labels = i.Labels[from:to]
	return i
}

// Tensor returns the images as numbers from 0 to 1, float32 [N, Height, Width, Channels].
func (i Images) Tensor() *tensors.Tensor {
	values := make([]float32, len(i.Pixels))
	for at, pixel := range i.Pixels {
		values[at] = float32(pixel) / 255
	}
	return tensors.FromFlatDataAndDimensions(values, i.Len(), i.Height, i.Width, i.Channels)
}

// Padded32 returns the set with its images in the shape of CIFAR-10's. Its name says so; the
// fingerprint stays that of the files.
func (s *Set) Padded32() *Set {
	padded := *s
	images := experiments.NamedImages(s.Name)
	padded.Name = images.Padded + strings.TrimPrefix(s.Name, images.Name)
	padded.Train, padded.Test = padded32(s.Train), padded32(s.Test)
	return &padded
}

// padded32 returns grey images in the shape of CIFAR-10's: in the middle of 32×32 zeros, and
// repeated in three channels.
func padded32(grey Images) Images {
	images := Images{Height: cifarSide, Width: cifarSide, Channels: 3, Labels: grey.Labels,
		Pixels: make([]uint8, grey.Len()*cifarImage)}
	top, left := (cifarSide-grey.Height)/2, (cifarSide-grey.Width)/2
	for at, value := range grey.Pixels {
		n, y, x := at/grey.Size(), at%grey.Size()/grey.Width, at%grey.Width
		pixel := ((n*cifarSide+top+y)*cifarSide + left + x) * 3
		copy(images.Pixels[pixel:], []uint8{value, value, value})
	}
	return images
}
