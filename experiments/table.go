package experiments

import (
	"fmt"
	"slices"
	"strings"

	"ebsscgo/ebssc"
)

// Row is an experiment on the paper's seven-block network: a row of its Table 2.
type Row struct {
	// Name on the command line, in results and in folders.
	Name string
	// Title as the paper writes it.
	Title string
	// Body is the coding of the blocks below the class-specific ones.
	Body ebssc.Coding
	// EBC is the number of the first class-specific block: 6 for EBC₆₋₇; 0 for a linear classifier on block 7 (LC₇).
	EBC int
	// AveragePool pools averages in place of maxima.
	AveragePool bool
	// Settings are hyperparameters in which the row differs from its profile's recipe.
	Settings Settings
	// Paper is what the paper reports; empty for a row of your own.
	Paper Paper
}

// Paper is what the paper reports of a row, as it rounds it.
type Paper struct {
	// TrainErr and TestErr in percent.
	TrainErr, TestErr float64
	// Params is the number of parameters, such as "2.6M".
	Params string
	// Where in the paper it says so.
	Where string
}

const table2 = "Table 2"

// Table is the paper's Table 2: its five rows on CIFAR-10.
var Table = []Row{
	{Name: "relu-lc7", Title: "ReLU+LC₇", Body: ebssc.ReLU, Paper: Paper{1.20, 11.40, "1.3M", table2}},
	{Name: "crelu-lc7", Title: "CReLU+LC₇", Body: ebssc.CReLU, Paper: Paper{2.09, 10.17, "2.6M", table2}},
	{Name: "crelu-sn-lc7", Title: "CReLU(SN)+LC₇", Body: ebssc.CReLUSN, Paper: Paper{0.99, 9.74, "2.6M", table2}},
	{Name: "ssc-lc7", Title: "SSC+LC₇", Body: ebssc.SSC, Paper: Paper{0.99, 9.77, "2.6M", table2}},
	{Name: "ssc-ebc67", Title: "SSC+EBC₆₋₇", Body: ebssc.SSC, EBC: 6, Paper: Paper{0.21, 9.23, "3.2M", table2}},
}

// PaperWidth is the number of filters of the paper's first two blocks; the others have twice as many.
const PaperWidth = 96

// Network is the row's network: the paper's Table 1 with `width` filters in the first two blocks, for images of 32×32×3
// and 10 classes.
func (r Row) Network(width int) ebssc.Network {
	n := ebssc.Network{Height: 32, Width: 32, Channels: 3, Classes: 10, Classifier: ebssc.Linear}
	if r.EBC > 0 {
		n.Classifier = ebssc.EnergySum
	}
	conv := func(number, filters, kernel int) ebssc.Layer {
		coding := r.Body
		if r.EBC > 0 && number >= r.EBC {
			coding = ebssc.EBC
		}
		return ebssc.Layer{Name: fmt.Sprintf("conv%d", number), Block: &ebssc.Block{
			Filters: filters, Kernel: kernel, Stride: 1, Padding: 1, Coding: coding,
		}}
	}
	pool := func(number int) ebssc.Layer {
		return ebssc.Layer{Name: fmt.Sprintf("pool%d", number), Pool: &ebssc.Pool{
			Window: 3, Stride: 2, Padding: 1, Average: r.AveragePool,
		}}
	}
	n.Layers = []ebssc.Layer{
		conv(1, width, 3), conv(2, width, 3), pool(1),
		conv(3, 2*width, 3), conv(4, 2*width, 3), conv(5, 2*width, 3), pool(2),
		conv(6, 2*width, 3), conv(7, 2*width, 1), // Block 7 has a 1×1 kernel and padding 1: its code is 10×10.
	}
	return n
}

// Find returns the rows of the given names, in the order of all; no names means all of them.
func Find(all []Row, names []string) ([]Row, error) {
	if len(names) == 0 {
		return all, nil
	}
	var found []Row
	for _, row := range all {
		if slices.Contains(names, row.Name) {
			found = append(found, row)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(row Row) bool { return row.Name == name }) {
			var known []string
			for _, row := range all {
				known = append(known, row.Name)
			}
			return nil, fmt.Errorf("unknown experiment %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}
