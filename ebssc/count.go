package ebssc

import (
	"fmt"
	"math"
	"strings"
)

// Count is the number of a network's parameters, by role.
type Count struct {
	// Dictionary entries of all blocks (the paper's "conv").
	Dictionary int
	// Classifier weights of LC, or class thresholds ŵ_y of EBC.
	Classifier int
	// Offsets b of all blocks and their thresholds β. They vanish in the paper's rounded counts.
	Offsets int
}

// Total number of parameters.
func (c Count) Total() int { return c.Dictionary + c.Classifier + c.Offsets }

// MaxParameters is the largest number of parameters of a valid network.
const MaxParameters = 1 << 26

// Count counts the network's parameters from its description; it builds no graph. More than
// [MaxParameters] are an error.
func (n Network) Count() (count Count, err error) {
	variables, err := n.Shapes()
	total := 0.0
	for name, dims := range variables {
		size := 1.0
		for _, dim := range dims {
			size *= math.Abs(float64(dim)) // which a product of large sizes may have turned
		}
		if total += size; total > MaxParameters {
			return Count{}, fmt.Errorf("more than %d parameters: take a smaller width", MaxParameters)
		}
		switch {
		case strings.HasSuffix(name, "/dictionary"):
			count.Dictionary += int(size)
		case len(dims) > 1: // LC's weights or ŵ_y
			count.Classifier += int(size)
		default: // b or β
			count.Offsets += int(size)
		}
	}
	return count, err
}

// Shapes are the dimensions of all variables of the network, by name: "conv1/dictionary" [k, k, C,
// K]. It builds no graph.
func (n Network) Shapes() (map[string][]int, error) {
	sizes, err := n.sizes()
	if err != nil {
		return nil, err
	}
	all := map[string][]int{}
	for i, layer := range n.Layers {
		if layer.Block == nil {
			continue
		}
		below, above, block := sizes[i], sizes[i+1], layer.Block
		all[layer.Name+"/dictionary"] = []int{block.Kernel, block.Kernel, below.channels, block.Filters}
		all[layer.Name+"/offset"] = []int{block.Filters}
		switch block.Coding.Thresholds {
		case Beta:
			all[layer.Name+"/thresholds"] = []int{}
		case ClassSpecific:
			all[layer.Name+"/thresholds"] = []int{n.Classes, above.height, above.width, 2 * block.Filters}
		}
	}
	if n.Classifier == Linear {
		all[classifierScope+"/weights"] = []int{sizes[len(sizes)-1].channels, n.Classes}
	}
	return all, nil
}

// Entries is the number of entries of all codes of a valid network for one image, those of
// class-specific codes once for each hypothesis; it panics for others. Pools count as blocks.
func (n Network) Entries() (entries float64) {
	sizes, err := n.sizes()
	if err != nil {
		panic(err)
	}
	for _, s := range sizes[1:] {
		entries += float64(s.height) * float64(s.width) * float64(s.channels) * float64(max(1, s.classes))
	}
	return entries
}

// Products is the number of products in the convolutions of a valid network for one image; it
// panics for others. Blocks that read class-specific codes count once for each hypothesis. A sweep
// of inference has two convolutions for each hypothesis in every block but the first: up and down.
func (n Network) Products() (products float64) {
	sizes, err := n.sizes()
	if err != nil {
		panic(err)
	}
	hypotheses := max(1, sizes[len(sizes)-1].classes)
	for i, layer := range n.Layers {
		if block := layer.Block; block != nil {
			below, above := sizes[i], sizes[i+1]
			times := max(1, below.classes)
			if products > 0 { // above the first block, whose input is the image
				times += n.Sweeps * 2 * hypotheses
			}
			filter := block.Kernel * block.Kernel * below.channels
			products += float64(above.height * above.width * filter * block.Filters * times)
		}
	}
	return products
}
