package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Study is a set of experiments that are run and reported together.
type Study struct {
	// Name on the command line, in [Profile.Scales] and of the report's files.
	Name string
	// About says in a line what the study shows.
	About string
	// Images that its networks are trained on.
	Images Images
	// Report is the kind of its report.
	Report Report
	// Ablation marks a study that the paper does not report. `ebssc run all` leaves it out.
	Ablation bool
	// Experiments in the order of the report.
	Experiments []Experiment
	// Claims of the paper, or of yours, about these experiments.
	Claims []Claim
}

// Studies are the studies that package experiments declares, in the order in which they run.
var Studies = Suite{
	{Name: "table", About: "the rows of the paper's Table 2", Images: CIFAR10, Report: Rows, Experiments: Table, Claims: tableClaims},
	{Name: "unroll", About: "the paper's Fig. 3: a two-block model with 0 to 4 sweeps of inference, one setting for all", Images: MNIST, Report: Sweeps,
		Experiments: unrolled("unroll", 4, EBCOnTop, nil), Claims: unrollClaims("unroll")},
	{Name: "unroll-both", About: "the same with class thresholds in both blocks", Images: MNIST, Report: Sweeps,
		Experiments: unrolled("unroll-both", 2, EBCInBoth, nil)},
	{Name: "unroll-chosen", About: "the same as unroll, each number of sweeps with hyperparameters chosen for it", Images: MNIST, Report: Sweeps, Ablation: true,
		Experiments: unrolled("unroll-chosen", 4, EBCOnTop, chosen)},
	{Name: "decoding", About: "the paper's Fig. 4: images and class biases decoded from every level", Images: CIFAR10, Report: Decodings,
		Experiments: Decoding, Claims: decodingClaims},
	{Name: "residuals", About: "the paper's Fig. 5: what a class hypothesis changes in the decoding of a digit", Images: MNIST, Report: Decodings,
		Experiments: Residuals, Claims: residualsClaims},
}

// Suite is a list of studies. The names of all their experiments differ.
type Suite []Study

// Study returns the study of a name.
func (s Suite) Study(name string) (Study, error) {
	var names []string
	for _, study := range s {
		if study.Name == name {
			return study, nil
		}
		names = append(names, study.Name)
	}
	return Study{}, unknown("study", name, names)
}

// Experiment returns the experiment of a name, and its study.
func (s Suite) Experiment(name string) (Study, Experiment, error) {
	var names []string
	for _, study := range s {
		for _, e := range study.Experiments {
			if e.Name == name {
				return study, e, nil
			}
			names = append(names, e.Name)
		}
	}
	return Study{}, Experiment{}, unknown("experiment", name, names)
}

// Title is an experiment's as the paper writes it, or its name if it is not declared.
func (s Suite) Title(experiment string) string {
	if _, e, err := s.Experiment(experiment); err == nil {
		return e.Title
	}
	return experiment
}

// Only returns the studies with the named experiments alone, in their order. Without names it returns all.
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

// Of returns the studies that a profile has.
func (s Suite) Of(profile Profile) (some Suite) {
	for _, study := range s {
		if _, ok := profile.Scales[study.Name]; ok {
			some = append(some, study)
		}
	}
	return some
}

// unknown is the error for a name that is not declared. It suggests the nearest one.
func unknown(kind, name string, known []string) error {
	nearest := slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
	hint := ""
	if levenshtein.ComputeDistance(name, nearest) <= 3 {
		hint = fmt.Sprintf("did you mean %s? ", nearest)
	}
	return fmt.Errorf("unknown %s %q: %schoose from %s", kind, name, hint, strings.Join(known, ", "))
}
