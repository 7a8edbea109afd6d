package experiments

import (
	"fmt"
	"slices"
	"strings"

	"ebsscgo/ebssc"
)

// Experiment is a network to train: a row of the paper's table, or a line in its figure.
type Experiment struct {
	// Name on the command line, in results and in folders.
	Name string
	// Title as the paper writes it.
	Title string
	// Architecture is the network at any width.
	Architecture
	// Settings are hyperparameters in which the experiment differs from its profile's recipe.
	Settings Settings
	// Base is the name of the experiment of the same study that it differs from in one thing, and beside which it is
	// reported; empty for one that stands by itself.
	Base string
	// Traced experiments are measured after every epoch, on the test images and on the first training images.
	Traced bool
	// Paper is what the paper reports; empty for an experiment of your own.
	Paper Paper
}

// Architecture is a network that comes in all widths.
type Architecture interface {
	// Network is the network of that width, the number of filters of its first block.
	Network(width int) ebssc.Network
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

// Images says which images a study is about.
type Images string

const (
	// CIFAR10 are 32×32×3 pixels, 50,000 of them for training.
	CIFAR10 Images = "CIFAR-10"
	// MNIST are 28×28×1 pixels, 60,000 of them for training.
	MNIST Images = "MNIST"
)

// Report says how the results of a study are reported.
type Report string

const (
	// Rows are lines of a table: the errors of each experiment.
	Rows Report = "rows"
	// Sweeps are learning curves by the number of sweeps, and paired tests between them.
	Sweeps Report = "sweeps"
	// Decodings are pictures of what a network's codes hold, and how faithful they are.
	Decodings Report = "decodings"
)

// Study is a set of experiments that are run and reported together.
type Study struct {
	// Name on the command line.
	Name string
	// About says what it shows, in a line.
	About string
	// Images that its networks are trained on.
	Images Images
	// Report says how its results are reported.
	Report Report
	// Ablation says that the paper does not report it.
	Ablation bool
	// Experiments in the order of the report.
	Experiments []Experiment
}

// Studies are all studies, in the order in which they are run.
var Studies = []Study{
	{Name: "table", About: "the rows of the paper's Table 2", Images: CIFAR10, Report: Rows, Experiments: Table},
	{Name: "unroll", About: "the paper's Fig. 3: a two-block model with 0 to 4 sweeps of inference", Images: MNIST, Report: Sweeps, Experiments: Unroll},
	{Name: "unroll-both", About: "the same with class thresholds in both blocks", Images: MNIST, Report: Sweeps, Ablation: true, Experiments: UnrollBoth},
	{Name: "decoding", About: "the paper's Fig. 4: images and class biases decoded from every level", Images: CIFAR10, Report: Decodings, Experiments: Decoding},
	{Name: "residuals", About: "the paper's Fig. 5: what a class hypothesis changes in the decoding of a digit", Images: MNIST, Report: Decodings, Experiments: Residuals},
}

// Register adds a study to Studies. Its name and those of its experiments must be new.
func Register(study Study) {
	for _, e := range study.Experiments {
		if _, _, ok := StudyOf(e.Name); ok {
			panic("experiment " + e.Name + " is declared twice")
		}
	}
	Studies = append(Studies, study)
}

// All are the experiments of some studies, in their order.
func All(studies []Study) (all []Experiment) {
	for _, study := range studies {
		all = append(all, study.Experiments...)
	}
	return all
}

// FindStudy returns the study of that name.
func FindStudy(name string) (Study, error) {
	var known []string
	for _, study := range Studies {
		if study.Name == name {
			return study, nil
		}
		known = append(known, study.Name)
	}
	return Study{}, fmt.Errorf("unknown study %q: choose from %s", name, strings.Join(known, ", "))
}

// StudyOf returns the study that an experiment belongs to, and the experiment; ok is false for an unknown name.
func StudyOf(experiment string) (study Study, e Experiment, ok bool) {
	for _, study := range Studies {
		for _, e := range study.Experiments {
			if e.Name == experiment {
				return study, e, true
			}
		}
	}
	return Study{}, Experiment{}, false
}

// Find returns the experiments of the given names, in the order of all; no names means all of them.
func Find(all []Experiment, names []string) ([]Experiment, error) {
	if len(names) == 0 {
		return all, nil
	}
	var found []Experiment
	for _, e := range all {
		if slices.Contains(names, e.Name) {
			found = append(found, e)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(e Experiment) bool { return e.Name == name }) {
			var known []string
			for _, e := range all {
				known = append(known, e.Name)
			}
			return nil, fmt.Errorf("unknown experiment %q: choose from %s", name, strings.Join(known, ", "))
		}
	}
	return found, nil
}
