package dataset

import (
	"cmp"
	"strings"

	"github.com/gomlx/gomlx/core/tensors"

	"ebsscgo/experiments"
)

// The names of data sets. Only fingerprints decide which one a set gets.
const (
	CIFAR10Name        = "cifar10"         // the official bytes
	CIFAR10JPEGName    = "cifar10-jpeg"    // all images, once compressed as JPEGs of quality 75
	CIFAR10UnknownName = "cifar10-unknown" // anything else in the layout of CIFAR-10
	MNISTName          = "mnist"           // the official bytes
	MNISTUnknownName   = "mnist-unknown"   // anything else in the layout of MNIST (KMNIST, for one)
	MNIST32Name        = "mnist32"         // MNIST padded to the size of CIFAR-10's images, see [Set.Padded32]
	MNIST32UnknownName = "mnist32-unknown" // any other set in the layout of MNIST, padded
)

var titles = map[string]string{
	CIFAR10Name:        "CIFAR-10",
	CIFAR10JPEGName:    "CIFAR-10 (JPEG copy)",
	CIFAR10UnknownName: "CIFAR-10 (unknown copy)",
	MNISTName:          "MNIST",
	MNISTUnknownName:   "MNIST (unknown copy)",
	MNIST32Name:        "MNIST (padded to 32×32×3)",
	MNIST32UnknownName: "MNIST (unknown copy, padded to 32×32×3)",
}

// Title is the name of a data set as a reader of a table should see it: the name itself if it is not one of ours.
func Title(name string) string { return cmp.Or(titles[name], name) }

// OfThePaper says whether a name is of the images that the paper trains on: results on others never stand beside the paper's.
func OfThePaper(name string) bool {
	return name == CIFAR10Name || name == CIFAR10JPEGName || name == MNISTName
}

// StandsIn says whether a name is of digits in the place of CIFAR-10, padded to the size of its images.
func StandsIn(name string) bool { return strings.HasPrefix(name, MNIST32Name) }

// OfDigits says whether a name is of images in MNIST's layout, padded or not.
func OfDigits(name string) bool { return strings.HasPrefix(name, MNISTName) }

// Copies says whether two data sets are the same pictures and labels in different bytes: CIFAR-10 and its JPEG copy. Results on them are never
// put together, but a network trained on one can be shown the other's pictures.
func Copies(a, b experiments.Dataset) bool {
	return min(a.Name, b.Name) == CIFAR10Name && max(a.Name, b.Name) == CIFAR10JPEGName && a.Train == b.Train && a.Test == b.Test
}

// Folder is the folder below results/ for a profile's results on the data set of that name: "quick" for the images of the committed
// results, which are the JPEG copy of CIFAR-10 and MNIST, and "quick-mnist32" for others. Results on different images never mix.
func Folder(profile, dataset string) string {
	if dataset == CIFAR10JPEGName || dataset == MNISTName {
		return profile
	}
	return profile + "-" + dataset
}

// ClassesOf returns the names of the classes of a data set.
func ClassesOf(name string) []string {
	if strings.HasPrefix(name, MNISTName) {
		return sources[experiments.MNIST].classes
	}
	return sources[experiments.CIFAR10].classes
}

// Set is a data set with its authors' split.
type Set struct {
	// Name is one of the Name constants.
	Name string
	// SHA256 is the fingerprint of the images and labels in lower-case hexadecimal, whatever layout they were read from: the SHA-256 of the
	// list that sha256sum prints for the official files with them, in their official order, unzipped, by their official names, as in
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
	return experiments.Dataset{Name: s.Name, SHA256: s.SHA256, Train: s.Train.Len(), Test: s.Test.Len()}
}

// Images are labelled images of one size.
type Images struct {
	// Height, Width and Channels of each image.
	Height, Width, Channels int
	// Pixels are all images, [N, Height, Width, Channels] in row-major order, channels last.
	Pixels []uint8
	// Labels are the classes of the images, [N].
	Labels []uint8
}

// Len is the number of images.
func (i Images) Len() int { return len(i.Labels) }

// Size is the number of values in one image, Height · Width · Channels.
func (i Images) Size() int { return i.Height * i.Width * i.Channels }

// Slice returns images from up to and without to. They share memory with i.
func (i Images) Slice(from, to int) Images {
	i.Pixels = i.Pixels[from*i.Size() : to*i.Size()]
	i.Labels = i.Labels[from:to]
	return i
}

// Tensor is the images as numbers from 0 to 1, float32 [N, Height, Width, Channels].
func (i Images) Tensor() *tensors.Tensor {
	values := make([]float32, len(i.Pixels))
	for at, pixel := range i.Pixels {
		values[at] = float32(pixel) / 255
	}
	return tensors.FromFlatDataAndDimensions(values, i.Len(), i.Height, i.Width, i.Channels)
}

// Padded32 returns the grey images of MNIST's layout in the shape of CIFAR-10's: in the middle of 32×32 zeros, and repeated in three
// channels. Its name says so, the fingerprint stays that of the files.
func (s *Set) Padded32() *Set {
	padded := *s
	padded.Name = strings.Replace(s.Name, MNISTName, MNIST32Name, 1)
	for _, images := range []*Images{&padded.Train, &padded.Test} {
		grey := *images
		images.Height, images.Width, images.Channels, images.Pixels = cifarSide, cifarSide, 3, make([]uint8, grey.Len()*cifarImage)
		top, left := (cifarSide-grey.Height)/2, (cifarSide-grey.Width)/2
		for at, value := range grey.Pixels {
			n, y, x := at/grey.Size(), at%grey.Size()/grey.Width, at%grey.Width
			pixel := ((n*cifarSide+top+y)*cifarSide + left + x) * 3
			copy(images.Pixels[pixel:], []uint8{value, value, value})
		}
	}
	return &padded
}

// names are those of the known fingerprints, which follow from the official files' published SHA-256.
var names = map[string]string{
	"5fdcf57d170bdbc7da569af1dabd64d7d3c7507e9e7aa861fc7b691d5355c232": CIFAR10Name,
	"68374e1a504b4c1c7a5e90412bfd519a99352c878849adff125f93aadcb62a2f": CIFAR10JPEGName, // decoded by Go's image/jpeg
	"d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a": MNISTName,
}

// others are the data sets of other pictures by their fingerprints, which lie in folders under the same names of files.
var others = map[string]string{
	"5cf0562c46b89a77940b86f40a9a4325e7bed59d53ec555c4d14f0bed41ca53a": "Fashion-MNIST",
}
