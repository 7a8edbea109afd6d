package experiments

import (
	"regexp"
	"slices"
	"strings"

	"ebsscgo/ebssc"
)

// Bounds of a person's own pictures: sides of images in pixels, the number of classes, and the
// number of values of an image up to which images are whitened unless --set says otherwise.
// Whitening takes square matrices of as many rows: 1.2 GB each for 64×64×3 values, 75 MB for
// 32×32×3.
const (
	MinSide, MaxSide = 16, 64
	MaxClasses       = 1000
	MaxWhitened      = 32 * 32 * 3
)

// ownPrefix begins the names of data sets that are a person's own pictures.
const ownPrefix = "own-"

// notInNames are characters that names of data sets do not have.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// OwnName returns the name of the data set that is a folder of a person's own pictures.
func OwnName(folder string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(folder), "-"), "-")
	if name = strings.Trim(name[:min(40, len(name))], "-"); name == "" {
		name = "pictures"
	}
	return ownPrefix + name
}

// Own reports whether a name of a data set is of a person's own pictures.
func Own(name string) bool { return strings.HasPrefix(name, ownPrefix) }

// On returns the study on a person's own images. Of their declaration the size and the classes
// count: the networks are made for them. The study has no claims, none of the paper's numbers, and
// no decodings, which have a picture for each class. Images of more than [MaxWhitened] values only
// have their contrast normalised, unless --set asks for more.
func (s Study) On(images Images) Study {
	s.Experiments, s.Claims = slices.Clone(s.Experiments), nil
	for i := range s.Experiments {
		e := &s.Experiments[i]
		e.Architecture, e.Paper, e.Decoded = onImages{e.Architecture, images}, Paper{}, false
		if change := e.Change; images.Height*images.Width*images.Channels > MaxWhitened {
			e.Change = func(h *Hyper) {
				if *h = h.Changed(change); h.Preprocessing == ZCA {
					h.Preprocessing = GCN
				}
			}
		}
	}
	return s
}

// onImages is an architecture for other images.
type onImages struct {
	Architecture
	images Images
}

// Network returns the layers of the architecture, for images of another size and with other
// classes.
func (o onImages) Network(width int) ebssc.Network {
	n := o.Architecture.Network(width)
	n.Height, n.Width, n.Channels = o.images.Height, o.images.Width, o.images.Channels
	n.Classes = len(o.images.Classes)
	return n
}

// MemoryParts estimates the bytes that a run takes: for the codes of a batch in training, each with
// its gradient and what the backend keeps beside them; for variables, their gradients and what
// optimizers keep; for images as bytes and as numbers.
func (r Run) MemoryParts() (codes, variables, images float64) {
	const number, copies = 4, 4 // bytes; of a code, and of a variable
	count, err := r.Network.Count()
	if err != nil {
		return 0, 0, 0 // Validate says so
	}
	size := float64(r.Network.Height * r.Network.Width * r.Network.Channels)
	return copies * number * r.Network.Entries() * float64(max(r.Hyper.Batch, EvaluationBatch)),
		copies * number * float64(count.Total()),
		size*float64(r.Dataset.Train+r.Dataset.Test) +
			3*number*size*float64(r.TrainImages+r.TestImages)
}

// EvaluationBatch is how many images are measured at a time. It divides the sizes of the usual data
// sets.
const EvaluationBatch = 100

// programMemory is what a program takes that has trained nothing yet.
const programMemory = 512 << 20

// Memory estimates the bytes that a run takes.
func (r Run) Memory() float64 {
	codes, variables, images := r.MemoryParts()
	return codes + variables + images + programMemory
}
