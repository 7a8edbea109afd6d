package ebssc

// Count is how many parameters a network has, by what they are for.
type Count struct {
	// Dictionary entries of all blocks (the paper's "conv").
	Dictionary int
	// Classifier weights of LC, or class thresholds ŵ_y of EBC.
	Classifier int
	// Offsets b of all blocks, and the thresholds β; the paper's figures round them away.
	Offsets int
}

// Total number of parameters.
func (c Count) Total() int { return c.Dictionary + c.Classifier + c.Offsets }

// Count is the number of the network's parameters, from its description alone.
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
		case BetaFilter:
			count.Offsets += block.Filters
		case ClassSpecific:
			count.Classifier += n.Classes * above.height * above.width * 2 * block.Filters
		}
	}
	if n.Classifier == Linear {
		count.Classifier += sizes[len(sizes)-1].channels * n.Classes
	}
	return count, nil
}

// TrainingFLOP is how many floating-point operations the dictionaries take in a training step for one image, each product and
// each sum counting one: convolutions as they are defined, with the zeros of their borders, forward and for the gradients in
// the dictionary and in what the block reads, but not in the image. Blocks that read class-specific codes take them once for
// each hypothesis. All else is left out; it is little arithmetic, though not little time. It is 0, for unknown, where the
// network has sweeps.
func (n Network) TrainingFLOP() (int, error) {
	sizes, err := n.sizes()
	if err != nil || n.Sweeps > 0 {
		return 0, err
	}
	flop, passes := 0, 2 // forward and the dictionary's gradient; above the first block that in its input, too
	for i, layer := range n.Layers {
		if layer.Block == nil {
			continue
		}
		below, above, block := sizes[i], sizes[i+1], layer.Block
		products := above.height * above.width * block.Kernel * block.Kernel * below.channels * block.Filters
		flop += passes * 2 * products * max(1, below.classes)
		passes = 3
	}
	return flop, nil
}
