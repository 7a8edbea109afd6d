package experiments

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"ebsscgo/ebssc"
)

// Study is a set of experiments that are run and reported together.
type Study struct {
	// Name on the command line and of the report's files.
	Name string
	// About says in a line what the study shows.
	About string
	// Images that its networks are trained on.
	Images Images
	// Report is the kind of its report.
	Report Report
	// Ablation marks a study that the paper does not report.
	Ablation bool
	// LikeTable gives an ablation the scale of the paper's table in place of that of the ablations.
	LikeTable bool
	// Experiments in the order of the report.
	Experiments []Experiment
	// Reference rows of another study at the same scale stand below the study's own in a report of Rows. Their Base is one of them, too.
	Reference []Experiment
	// Regime is the training error, in percent, up to which a network of the study, at the paper's width, is in the paper's regime: of the
	// order of the paper's own. Verdicts on claims say so. 0 where the paper names neither the network nor the images: then no verdict says reproduced or
	// contradicted.
	Regime float64
	// Grid of settings that its experiments choose from, see there; nil where all have the recipe's.
	Grid Grid
	// Claims of the paper, or of yours, about these experiments.
	Claims []Claim
}

// Training errors in percent up to which a network of the paper's width is in the paper's regime. The rows of Table 2 have 0.21 to 2.09, those commented out up
// to 3.91. Of networks for digits it has no training errors; those that it has of test images, 0.74 and 1.31 (Sec. 3.1.1), are near 1.
const (
	CIFARRegime = 5
	MNISTRegime = 1
)

// Studies are the studies that package experiments declares, in the order in which they run.
var Studies = Suite{
	{Name: "table", About: "the rows of the paper's Table 2", Images: CIFAR10, Report: Rows,
		Regime: CIFARRegime, Experiments: Table, Claims: tableClaims},
	{Name: "unroll", About: "the paper's Fig. 3: a two-block model with 0 to 4 sweeps of inference", Images: MNIST, Report: Sweeps,
		Experiments: Unroll, Grid: unrollGrid, Claims: unrollClaims},
	{Name: "unroll-both", About: "the same with class thresholds in both blocks", Images: MNIST, Report: Sweeps, Ablation: true,
		Experiments: UnrollBoth},
	{Name: "decoding", About: "the paper's Fig. 4: images and class biases decoded from every level", Images: CIFAR10, Report: Decodings,
		Regime: CIFARRegime, Experiments: Decoding, Claims: decodingClaims},
	{Name: "residuals", About: "the paper's Fig. 5: what a class hypothesis changes in the decoding of a digit", Images: MNIST, Report: Decodings,
		Regime: MNISTRegime, Experiments: Residuals, Claims: residualsClaims},
}

// experimentNames are names that can stand in those of files and on command lines.
var experimentNames = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// reserved are names that a study cannot have: "all" stands for all studies on the command line, the others name files or folders of results.
var reserved = []string{"all", "claims", "trials", "scans", "grid", "runs", "figures", "networks", "checkpoints", "report"}

// Rows are the experiments that the study's report shows: its own, and the reference rows.
func (s Study) Rows() []Experiment { return slices.Concat(s.Experiments, s.Reference) }

// Has says whether an experiment is one of the study's own.
func (s Study) Has(experiment string) bool { return named(s.Experiments, experiment) }

// named says whether one of the experiments has that name.
func named(all []Experiment, name string) bool {
	return slices.ContainsFunc(all, func(e Experiment) bool { return e.Name == name })
}

// has says whether the study has the source's experiment and block. An empty source names nothing.
func (s Study) has(source Source) bool {
	if source == (Source{}) {
		return true
	}
	for _, e := range s.Experiments {
		if e.Name == source.Experiment {
			return source.Block == "" || slices.ContainsFunc(e.Network(1).Layers, func(layer ebssc.Layer) bool {
				return layer.Block != nil && layer.Name == source.Block
			})
		}
	}
	return false
}

// Suite is a list of studies. The names of their experiments differ, see [Suite.Validate].
type Suite []Study

// Validate returns an error where two studies or two of their experiments share a name, or where a study contradicts itself: a mistake in a
// declaration is one line as soon as the program starts.
func (s Suite) Validate() error {
	studies, owners := map[string]bool{}, map[string]string{}
	for _, study := range s {
		if studies[study.Name] {
			return fmt.Errorf("study %s is declared twice", study.Name)
		}
		studies[study.Name] = true
		if err := study.validate(); err != nil {
			return fmt.Errorf("study %s: %w", study.Name, err)
		}
		for _, e := range study.Experiments {
			if owner, ok := owners[e.Name]; ok {
				return fmt.Errorf("study %s: experiment %s is declared in study %s, too", study.Name, e.Name, owner)
			}
			owners[e.Name] = study.Name
		}
	}
	return nil
}

// validate returns an error where a name is not of small letters, digits, dots and hyphens, or is used twice, for an unknown kind of images or
// of report, where no graph can be built from a network, or it does not read the study's images, for wrong settings, where a base or a claim
// names an experiment or a block that the study does not have, where a claim expects nothing or what cannot be measured, and where learning
// curves are reported and not traced.
func (s Study) validate() error {
	switch {
	case !experimentNames.MatchString(s.Name) || slices.Contains(reserved, s.Name):
		return fmt.Errorf("choose another name of small letters, digits, dots and hyphens, and none of %v", reserved)
	case len(s.Experiments) == 0:
		return errors.New("it has no experiments")
	case s.Images != CIFAR10 && s.Images != MNIST:
		return fmt.Errorf("its images are %q: choose %q or %q", s.Images, CIFAR10, MNIST)
	case s.Report != Rows && s.Report != Sweeps && s.Report != Decodings:
		return fmt.Errorf("its report is %q: choose %q, %q or %q", s.Report, Rows, Sweeps, Decodings)
	}
	names := map[string]bool{}
	for _, e := range s.Rows() {
		if !experimentNames.MatchString(e.Name) {
			return fmt.Errorf("%q cannot name an experiment: choose small letters, digits, dots and hyphens", e.Name)
		}
		if names[e.Name] {
			return fmt.Errorf("experiment %s is declared twice", e.Name)
		}
		names[e.Name] = true
		if err := e.validate(s.Images); err != nil {
			return fmt.Errorf("experiment %s: %w", e.Name, err)
		}
		if s.Report == Sweeps && !e.Traced {
			return fmt.Errorf("experiment %s: declare it as Traced, for the study reports learning curves", e.Name)
		}
	}
	for _, rows := range [][]Experiment{s.Experiments, s.Reference} {
		for _, e := range rows {
			if e.Base == e.Name {
				return fmt.Errorf("experiment %s is its own base", e.Name)
			}
			if e.Base != "" && !named(rows, e.Base) {
				return fmt.Errorf("the base %s of %s is not one of its experiments", e.Base, e.Name)
			}
		}
	}
	if len(s.Reference) > 0 && s.Report != Rows {
		return errors.New("it has reference rows, and does not report rows")
	}
	for _, axis := range s.Grid {
		for _, value := range axis.Values {
			if _, ok := (Settings{axis.Setting: value}).Number(axis.Setting); !ok {
				return fmt.Errorf("its grid has %s=%v: choose numbers", axis.Setting, value)
			}
			if err := Recipe.With(Settings{axis.Setting: value}).Validate(); err != nil {
				return fmt.Errorf("its grid: %w", err)
			}
		}
	}
	for _, claim := range s.Claims {
		if err := s.validateClaim(claim); err != nil {
			return fmt.Errorf("claim %s %w", claim.Name, err)
		}
	}
	return nil
}

// validate returns an error where no graph can be built from the network, where it reads other images, and for wrong settings.
func (e Experiment) validate(images Images) error {
	if e.Architecture == nil {
		return errors.New("it has no architecture")
	}
	network := e.Network(1)
	if err := network.Validate(); err != nil {
		return err
	}
	if height, width, channels := images.Size(); network.Height != height || network.Width != width || network.Channels != channels {
		return fmt.Errorf("its network reads images of %d×%d×%d, and those of %s have %d×%d×%d",
			network.Height, network.Width, network.Channels, images, height, width, channels)
	}
	return Recipe.With(e.Settings, e.Chosen).Validate()
}

// validateClaim returns an error where the claim expects nothing, or names what the study does not have.
func (s Study) validateClaim(claim Claim) error {
	if len(claim.Expect) == 0 {
		return errors.New("expects nothing")
	}
	for _, expectation := range claim.Expect {
		subject, baseline := expectation.Subject, expectation.Baseline
		declared, known := quantities[expectation.Quantity]
		block := declared.inBlock
		switch {
		case !known:
			return fmt.Errorf("measures %q: choose from %v", expectation.Quantity, slices.Sorted(maps.Keys(quantities)))
		case block && s.Report != Decodings:
			return fmt.Errorf("measures the %s of %s, which only studies that report decodings do", expectation.Quantity, subject)
		case block && subject.Block == "":
			return fmt.Errorf("measures the %s of %s: name one of its blocks", expectation.Quantity, subject)
		case !block && subject.Block != "":
			return fmt.Errorf("measures the %s of %s: name no block", expectation.Quantity, subject)
		case !(expectation.Low <= expectation.High):
			return fmt.Errorf("expects a %s from %v to %v", expectation.Quantity, expectation.Low, expectation.High)
		}
		if subject == (Source{}) || baseline != (Source{}) && (subject.Block == "") != (baseline.Block == "") {
			return fmt.Errorf("compares %v with %v", subject, baseline)
		}
		for _, source := range []Source{subject, baseline} {
			if !s.has(source) {
				return fmt.Errorf("names %s, which the study does not have", source)
			}
		}
	}
	return nil
}

// Study returns the study of a name.
func (s Suite) Study(name string) (Study, error) {
	var known []string
	for _, study := range s {
		if study.Name == name {
			return study, nil
		}
		known = append(known, study.Name)
	}
	return Study{}, unknown("study", name, known)
}

// Experiment returns the experiment of a name, and its study.
func (s Suite) Experiment(name string) (Study, Experiment, error) {
	var known []string
	for _, study := range s {
		for _, e := range study.Experiments {
			if e.Name == name {
				return study, e, nil
			}
			known = append(known, e.Name)
		}
	}
	return Study{}, Experiment{}, unknown("experiment", name, known)
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

// Experiments returns the experiments of all studies.
func (s Suite) Experiments() (all []Experiment) {
	for _, study := range s {
		all = append(all, study.Experiments...)
	}
	return all
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
