package experiments

import (
	"slices"
	"strings"
)

// DataKind is the kind of images that a study trains on: the name of a declared data set. Copies of
// it in other bytes are of the same kind.
type DataKind string

// The declared kinds of images.
const (
	CIFAR10      DataKind = "CIFAR-10"
	MNIST        DataKind = "MNIST"
	FashionMNIST DataKind = "Fashion-MNIST"
)

// Images declares a data set: all that is asked of it before its files are read. Package dataset
// has its decoder.
type Images struct {
	// Kind is its name for readers.
	Kind DataKind
	// Name is its name in records and folders. What lies in its layout and is no declared copy is
	// called <Name>-unknown.
	Name string
	// Height, Width and Channels of an image as networks see it. Smaller grey images in its files are
	// padded to that, which Note says for readers.
	Height, Width, Channels int
	Note                    string
	// Classes are the names of the classes by label.
	Classes []string
	// Train and Test are the numbers of images of its authors' split.
	Train, Test int
	// Copies are the known ones, that of its authors' bytes first.
	Copies []Copy
	// From says where a person gets it.
	From string
	// Digits are white on black, scaled and centred: pictures of one's own are made so.
	Digits bool
	// StandIn is the kind that takes its place if it cannot be downloaded; empty for none. Padded is
	// the name of its own images when they take another's place, in that one's size; empty if they
	// never do.
	StandIn DataKind
	Padded  string
}

// Copy is a data set's images and labels in certain bytes.
type Copy struct {
	// Name in records and folders; Note says for readers what sets the copy apart.
	Name, Note string
	// SHA256 is its fingerprint, see package dataset.
	SHA256 string
	// Committed copies are those of the committed results, which have a profile's own folder.
	Committed bool
}

// DataSets are the declared data sets. The fingerprints of the authors' bytes follow from their
// files' published checksums.
var DataSets = []Images{
	{Kind: CIFAR10, Name: "cifar10", Height: 32, Width: 32, Channels: 3,
		Classes: strings.Fields("airplane automobile bird cat deer dog frog horse ship truck"),
		Train:   50_000, Test: 10_000,
		Copies: []Copy{
			{Name: "cifar10",
				SHA256: "5fdcf57d170bdbc7da569af1dabd64d7d3c7507e9e7aa861fc7b691d5355c232"},
			// All images, once compressed as JPEGs of quality 75, and decoded by Go's image/jpeg.
			{Name: "cifar10-jpeg", Note: "JPEG copy", Committed: true,
				SHA256: "68374e1a504b4c1c7a5e90412bfd519a99352c878849adff125f93aadcb62a2f"},
		},
		From: "https://www.cs.toronto.edu/~kriz/cifar.html", StandIn: MNIST},
	{Kind: MNIST, Name: "mnist", Height: 28, Width: 28, Channels: 1,
		Classes: strings.Split("0123456789", ""),
		Train:   60_000, Test: 10_000,
		Copies: []Copy{{Name: "mnist", Committed: true,
			SHA256: "d0a3eec1f5a454401d758fdbf15b9b0163a7034963586d671960c180b97e2c1a"}},
		From: "https://huggingface.co/datasets/ylecun/mnist", Digits: true, Padded: "mnist32"},
	{Kind: FashionMNIST, Name: "fashion-mnist", Height: 32, Width: 32, Channels: 3, Note: padded,
		Classes: []string{"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
			"sneaker", "bag", "ankle boot"},
		Train: 60_000, Test: 10_000,
		Copies: []Copy{{Name: "fashion-mnist", Committed: true,
			SHA256: "5cf0562c46b89a77940b86f40a9a4325e7bed59d53ec555c4d14f0bed41ca53a"}},
		From: "https://github.com/zalandoresearch/fashion-mnist or Debian's dataset-fashion-mnist"},
}

// padded is the note of grey images that have been made as large as CIFAR-10's.
const padded = "padded to 32×32×3"

// FindImages returns the declared images of that kind's name.
func FindImages(kind string) (Images, error) {
	return find("data set", kind, DataSets, func(i Images) string { return string(i.Kind) })
}

// Images returns the declaration of a kind; of one that is not declared, nothing.
func (k DataKind) Images() Images {
	images, _ := FindImages(string(k))
	return images
}

// Declared returns the data set of a kind in its authors' bytes: its name and its numbers of
// images, without a fingerprint.
func (k DataKind) Declared() Dataset {
	i := k.Images()
	return Dataset{Name: i.Name, Train: i.Train, Test: i.Test}
}

// Unknown returns the name of what lies in the data set's layout and is no declared copy.
func (i Images) Unknown() string { return i.Name + unknown }

const unknown = "-unknown"

// Named is what the name of a data set in a record says.
type Named struct {
	Images
	// Title for readers.
	Title string
	// Genuine images are a declared copy. Results on others never stand beside the paper's, and no
	// claim is judged by them.
	Genuine bool
	// StandsIn says that they take the place of another data set, padded to the size of its images.
	StandsIn bool
	// Committed as in [Copy].
	Committed bool
}

// NamedImages returns what a name of a data set says; of a name that no declaration gives, nothing.
func NamedImages(name string) Named {
	for _, i := range DataSets {
		for _, c := range i.Copies {
			if c.Name == name {
				return Named{Images: i, Title: i.title(c.Note), Genuine: true, Committed: c.Committed}
			}
		}
		switch {
		case name == i.Unknown():
			return Named{Images: i, Title: i.title("unknown copy")}
		case i.Padded != "" && name == i.Padded:
			return Named{Images: i, Title: i.title(padded), StandsIn: true}
		case i.Padded != "" && name == i.Padded+unknown:
			return Named{Images: i, Title: i.title("unknown copy", padded), StandsIn: true}
		}
	}
	return Named{}
}

// title returns the data set's name for readers, with notes and its own note.
func (i Images) title(notes ...string) string {
	notes = append(notes, i.Note)
	notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	if len(notes) == 0 {
		return string(i.Kind)
	}
	return string(i.Kind) + " (" + strings.Join(notes, ", ") + ")"
}

// Has reports whether a name is of the data set itself: of a declared copy.
func (k DataKind) Has(name string) bool {
	named := NamedImages(name)
	return named.Genuine && named.Kind == k
}
