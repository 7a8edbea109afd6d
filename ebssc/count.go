package ebssc

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

// Count counts the network's parameters from its description; it builds no graph.
func (n Network) Count() (Count, error) {
	sizes, err := n.sizes()
	if err != nil {
		return Count{}, err
	}
	var count Count
	for i, layer := range n.Layers {
		if layer.Block == nil {
			continue
		}
		below, above, block := sizes[i], sizes[i+1], layer.Block
		count.Dictionary += block.Kernel * block.Kernel * below.channels * block.Filters
		count.Offsets += block.Filters
		switch block.Coding.Thresholds {
		case Beta:
			count.Offsets++
		case ClassSpecific:
			count.Classifier += n.Classes * above.height * above.width * 2 * block.Filters
		}
	}
	if n.Classifier == Linear {
		count.Classifier += sizes[len(sizes)-1].channels * n.Classes
	}
	return count, nil
}

// Shapes are the dimensions of all variables of the network, by name: "conv1/dictionary" [k, k, C, K]. It builds no graph.
func (n Network) Shapes() (map[string][]int, error) {
	sizes, err := n.sizes()
	if err != nil {
		return nil, err
	}
	shapes := map[string][]int{}
	for i, layer := range n.Layers {
		if layer.Block == nil {
			continue
		}
		below, above, block := sizes[i], sizes[i+1], layer.Block
		shapes[layer.Name+"/dictionary"] = []int{block.Kernel, block.Kernel, below.channels, block.Filters}
		shapes[layer.Name+"/offset"] = []int{block.Filters}
		switch block.Coding.Thresholds {
		case Beta:
			shapes[layer.Name+"/thresholds"] = []int{}
		case ClassSpecific:
			shapes[layer.Name+"/thresholds"] = []int{n.Classes, above.height, above.width, 2 * block.Filters}
		}
	}
	if n.Classifier == Linear {
		shapes[classifierScope+"/weights"] = []int{sizes[len(sizes)-1].channels, n.Classes}
	}
	return shapes, nil
}

// TrainingFLOP counts the floating-point operations of the convolutions in a training step, for one image; each product and
// each sum counts one. It counts direct convolutions, zero padding included: the forward pass, the gradients in the
// dictionaries, and the gradients in the inputs of all blocks above the first. Blocks that read class-specific codes count
// once for each hypothesis. All other operations are left out: they are few, though they take time. For networks with sweeps
// the count is unknown, and 0 is returned.
func (n Network) TrainingFLOP() (int, error) {
	sizes, err := n.sizes()
	if err != nil || n.Sweeps > 0 {
		return 0, err
	}
	flop, passes := 0, 2 // the first block: forward and the dictionary's gradient
	for i, layer := range n.Layers {
		if layer.Block == nil {
			continue
		}
		below, above, block := sizes[i], sizes[i+1], layer.Block
		products := above.height * above.width * block.Kernel * block.Kernel * below.channels * block.Filters
		flop += passes * 2 * products * max(1, below.classes)
		passes = 3 // blocks above: the input's gradient, too
	}
	return flop, nil
}
