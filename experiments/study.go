// Package experiments declares all that is run, as data. An experiment is a network to train. A
// study says which experiments are reported together and what is claimed of them, a profile how
// large everything is. Hyperparameters and data sets are declared here, too. A Run joins all that
// with a seed, and describes all that decides a result. Studies with Ablation set are this
// project's own; package ablations has those that change rows of the Table.
//
// To add a row, append an Experiment to Table. Nothing else is needed: parameter counts, training,
// resuming and reports follow from the declaration.
package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"ebsscgo/ebssc"
)

// Study is a set of experiments that are run and reported together.
type Study struct {
	// Name on the command line, in [Profile.Scales] and of the report's files; About says in a line
	// what the study shows.
	Name, About string
	// Images that its networks are trained on.
	Images DataKind
	// EvalEachEpoch measures the networks after every epoch, on the test images and on the first
	// [TracedImages] training images; the report has the curves.
	EvalEachEpoch bool
	// Headline marks the study whose differences answer the paper's question.
	Headline bool
	// Ablation marks a study that the paper does not report. `ebssc run all` leaves it out.
	Ablation bool
	// Experiments in the order of the report.
	Experiments []Experiment
	// Claims of the paper, or of yours, about these experiments.
	Claims []Claim
}

// Studies are the studies that package experiments declares, in the order in which they run.
var Studies = Suite{
	{Name: "table", About: "the rows of the paper's Table 2",
		Images: CIFAR10, Headline: true, Experiments: Table, Claims: tableClaims},
	{Name: "unroll", Images: MNIST, EvalEachEpoch: true,
		About:       "the paper's Fig. 3: 0 to 4 sweeps of a two-block model, one setting for all",
		Experiments: unrolled("unroll", 4, ebssc.SSC, nil), Claims: unrollClaims},
	{Name: "unroll-both", About: "the same with class thresholds in both blocks",
		Images: MNIST, EvalEachEpoch: true,
		Experiments: unrolled("unroll-both", 2, ebssc.EBC, nil)},
	{Name: "unroll-chosen", Images: MNIST, EvalEachEpoch: true, Ablation: true,
		About:       "the same as unroll, each number of sweeps with hyperparameters chosen for it",
		Experiments: unrolled("unroll-chosen", 4, ebssc.SSC, chosen)},
	{Name: "decoding", About: "the paper's Fig. 4: images and class biases decoded from every level",
		Images: CIFAR10, Experiments: Decoding, Claims: decodingClaims},
	{Name: "residuals", Images: MNIST,
		About:       "the paper's Fig. 5: what a class hypothesis changes in the decoding of a digit",
		Experiments: Residuals, Claims: residualsClaims},
	{Name: "fit", Images: CIFAR10, Ablation: true,
		About:       "SSC+LC₇ and SSC+EBC₆₋₇, width and fit crossed",
		Experiments: Fit, Claims: fitClaims},
	{Name: "width", Images: CIFAR10, Ablation: true,
		About:       "SSC+LC₇ and SSC+EBC₆₋₇ at three widths, in one epoch",
		Experiments: Width, Claims: widthClaims},
	{Name: "unroll-budget", About: "networks without and with a sweep, briefly and long",
		Images: MNIST, EvalEachEpoch: true, Ablation: true,
		Experiments: budgeted(), Claims: budgetClaims},
	{Name: "unroll-conv", Images: MNIST, EvalEachEpoch: true, Ablation: true,
		About:       "0 to 4 sweeps of two small convolutional blocks, energies times 1 and 100",
		Experiments: convolutional(), Claims: convolutionalClaims},
	{Name: "fashion", About: "the rows of the paper's Table 2 on images that it does not have",
		Images: FashionMNIST, Ablation: true, Experiments: Fashion, Claims: fashionClaims},
}

// Rescales reports whether an experiment of the study changes the profile's scale.
func (s Study) Rescales() bool {
	return slices.ContainsFunc(s.Experiments, func(e Experiment) bool { return e.Rescale != nil })
}

// Suite is a list of studies. The names of all their experiments differ.
type Suite []Study

// Study returns the study of a name.
func (s Suite) Study(name string) (Study, error) {
	return find("study", name, s, func(study Study) string { return study.Name })
}

// Experiment returns the experiment of a name, and its study.
func (s Suite) Experiment(name string) (study Study, e Experiment, err error) {
	var all []Experiment
	for _, study := range s {
		for _, e := range study.Experiments {
			if e.Name == name {
				return study, e, nil
			}
			all = append(all, e)
		}
	}
	e, err = find("experiment", name, all, func(e Experiment) string { return e.Name })
	return study, e, err
}

// Title returns an experiment's title as the paper writes it, or its name if it is not declared.
func (s Suite) Title(experiment string) string {
	if _, e, err := s.Experiment(experiment); err == nil {
		return e.Title
	}
	return experiment
}

// Only returns the studies with the named experiments alone, in their order. Without names it
// returns all.
func (s Suite) Only(names []string) (Suite, error) {
	for _, name := range names {
		if _, _, err := s.Experiment(name); err != nil {
			return nil, err
		}
	}
	var chosen Suite
	for _, study := range s {
		study.Experiments = slices.DeleteFunc(slices.Clone(study.Experiments), func(e Experiment) bool {
			return len(names) > 0 && !slices.Contains(names, e.Name)
		})
		if len(study.Experiments) > 0 {
			chosen = append(chosen, study)
		}
	}
	return chosen, nil
}

// ForProfile returns the studies that a profile has.
func (s Suite) ForProfile(profile Profile) Suite {
	return slices.DeleteFunc(slices.Clone(s), func(study Study) bool {
		return profile.Scales[study.Name].Seeds == 0
	})
}

// find returns what has the name. If nothing has, the error suggests the nearest name.
func find[T any](kind, name string, all []T, nameOf func(T) string) (found T, err error) {
	var names []string
	for _, one := range all {
		if nameOf(one) == name {
			return one, nil
		}
		names = append(names, nameOf(one))
	}
	distance := func(other string) int { return levenshtein.ComputeDistance(name, other) }
	nearest := slices.MinFunc(names, func(a, b string) int { return distance(a) - distance(b) })
	hint := ""
	if distance(nearest) <= 3 {
		hint = fmt.Sprintf("did you mean %s? ", nearest)
	}
	from := strings.Join(names, ", ")
	if len(names) > 40 { // of experiments
		from = fmt.Sprintf("the %d that ebssc list names", len(names))
	}
	return found, fmt.Errorf("unknown %s %q: %schoose from %s", kind, name, hint, from)
}
