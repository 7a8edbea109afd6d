package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
)

// Profile holds the verified records of a profile, sorted into what its reports show.
type Profile struct {
	// Name of the profile.
	Name string
	// Records of all runs, sorted by ID.
	Records []record.Record

	folder   string
	suite    experiments.Suite
	declared experiments.Profile
	settings map[string][]Setting // by study
	loaded   map[string]*Profile  // smaller profiles in the same folder of results
}

// Setting is where a study's runs were trained: on which data set and on which machine. Runs are compared within a setting alone.
type Setting struct {
	Dataset experiments.Dataset
	Machine experiments.Machine
	// Groups of the setting's records by experiment.
	Groups map[string]Group
}

// Group holds the records of an experiment that differ in their seed alone, sorted by seed.
type Group []record.Record

// sort puts the records in the order of their seeds.
func (g Group) sort() {
	slices.SortFunc(g, func(a, b record.Record) int { return cmp.Compare(a.Run.Seed, b.Run.Seed) })
}

// Load reads and verifies the records of a profile in a folder of results. Reports show the profile's own runs, those that have
// no [experiments.Suite.Differences]. The others are trials, which [Profile.Runs] lists. A folder that does not exist has no
// records.
func Load(results, profile string, suite experiments.Suite) (*Profile, error) {
	declared, err := experiments.FindProfile(profile)
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: profile, folder: filepath.Join(results, profile), suite: suite, declared: declared, loaded: map[string]*Profile{}}
	if p.Records, err = record.LoadAll(filepath.Join(p.folder, record.Folder)); err != nil {
		return nil, err
	}
	for _, r := range p.Records {
		if r.Run.Profile != profile {
			return nil, fmt.Errorf("record %s is of profile %s: move it to %s", record.Path(filepath.Join(p.folder, record.Folder), r.ID),
				r.Run.Profile, filepath.Join(results, r.Run.Profile, record.Folder))
		}
	}
	p.settings, err = sortIntoSettings(suite, p.Records, func(r record.Record) bool { return len(suite.Differences(r.Run)) == 0 })
	return p, err
}

// sortIntoSettings sorts a profile's own records by study, setting and experiment.
func sortIntoSettings(suite experiments.Suite, records []record.Record, own func(record.Record) bool) (map[string][]Setting, error) {
	settings := map[string][]Setting{}
	for _, r := range records {
		study, _, err := suite.Experiment(r.Run.Experiment)
		if err != nil || !own(r) {
			continue
		}
		all := settings[study.Name]
		i := slices.IndexFunc(all, func(s Setting) bool { return s.has(r.Run) })
		if i < 0 {
			i = len(all)
			all = append(all, Setting{r.Run.Dataset, r.Run.Machine, map[string]Group{}})
		}
		if others := all[i].records(); len(others) > 0 && others[0].Labels != r.Labels {
			return nil, fmt.Errorf("records %s and %s have different labels for the test images of one data set: train one of them again", others[0].ID, r.ID)
		}
		all[i].Groups[r.Run.Experiment] = append(all[i].Groups[r.Run.Experiment], r)
		settings[study.Name] = all
	}
	for _, all := range settings {
		for _, setting := range all {
			for _, group := range setting.Groups {
				group.sort()
			}
		}
		slices.SortFunc(all, compareSettings)
	}
	return settings, nil
}

// ranks orders data sets: the authors' bytes come first, digits that stand in for CIFAR-10 last.
var ranks = map[string]int{
	dataset.CIFAR10Name: -2, dataset.MNISTName: -2, dataset.CIFAR10JPEGName: -1, dataset.MNIST32Name: 1, dataset.MNIST32UnknownName: 1,
}

// compareSettings puts the setting first that figures and the ledger show: by the data set's rank, then the one with more runs,
// the one whose last run finished later, and the one whose name comes first.
func compareSettings(a, b Setting) int {
	runsA, runsB := a.records(), b.records()
	finished := func(r, other record.Record) int { return r.Finished.Compare(other.Finished) }
	return cmp.Or(cmp.Compare(ranks[a.Dataset.Name], ranks[b.Dataset.Name]), cmp.Compare(len(runsB), len(runsA)),
		finished(slices.MaxFunc(runsB, finished), slices.MaxFunc(runsA, finished)), strings.Compare(a.name(), b.name()))
}

// records are those of all groups, in no order.
func (s Setting) records() []record.Record {
	return slices.Concat(slices.Collect(maps.Values(s.Groups))...)
}

// has says whether a run is of the setting: on its data set and machine.
func (s Setting) has(run experiments.Run) bool {
	return s.Dataset == run.Dataset && s.Machine == run.Machine
}

// name tells the setting from all others.
func (s Setting) name() string { return fmt.Sprint(s.Dataset, s.Machine) }

// Title names the setting in headings.
func (s Setting) Title() string { return datasetTitle(s.Dataset) + ", backend " + s.Machine.String() }

// datasetTitle names a data set with the beginning of its fingerprint.
func datasetTitle(set experiments.Dataset) string {
	return fmt.Sprintf("%s (SHA-256 %.12s…)", dataset.Title(set.Name), set.SHA256)
}

// Settings are those of a study's own runs; figures and the ledger show the first.
func (p *Profile) Settings(study string) []Setting { return p.settings[study] }

// Group holds the profile's own runs of an experiment in its study's first setting; it is empty where none are recorded.
func (p *Profile) Group(experiment string) Group {
	study, _, err := p.suite.Experiment(experiment)
	if err != nil || len(p.settings[study.Name]) == 0 {
		return nil
	}
	return p.settings[study.Name][0].Groups[experiment]
}

// Missing is an experiment of a study with own runs, some of whose declared runs are not recorded.
type Missing struct {
	// Experiment by its name; Seeds of the runs that are not recorded.
	Experiment string
	Seeds      []int
	// Command trains them.
	Command string
}

// String is a line: the experiment, its seeds and the command.
func (m Missing) String() string {
	seeds := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Seeds), " ", ", "), "[]")
	if len(m.Seeds) > 1 {
		return fmt.Sprintf("%s, seeds %s: %s", m.Experiment, seeds, m.Command)
	}
	return fmt.Sprintf("%s, seed %s: %s", m.Experiment, seeds, m.Command)
}

// Missing lists the runs that the profile declares and does not have, in the first setting of each study that has been begun.
func (p *Profile) Missing() (missing []Missing) {
	for _, study := range p.suite {
		if len(p.settings[study.Name]) == 0 {
			continue
		}
		for _, e := range study.Experiments {
			m := Missing{Experiment: e.Name, Command: p.command(study, e.Name)}
			for seed := 1; seed <= p.declared.Scale(study).Seeds; seed++ {
				if !slices.ContainsFunc(p.Group(e.Name), func(r record.Record) bool {
					return r.Run.Seed == seed && (study.Report != experiments.Decodings || r.Decodings != nil)
				}) {
					m.Seeds = append(m.Seeds, seed)
				}
			}
			if len(m.Seeds) > 0 {
				missing = append(missing, m)
			}
		}
	}
	return missing
}

// command trains a study, or one of its experiments, on the machine of the study's first setting: runs on others make a setting of their own.
func (p *Profile) command(study experiments.Study, only string) string {
	if only != "" {
		only = " --only " + only
	}
	machine := ""
	if settings := p.settings[study.Name]; len(settings) > 0 {
		machine, _ = settings[0].Machine.Flags()
	}
	return fmt.Sprintf("ebssc run %s%s --profile %s%s", study.Name, only, p.Name, machine)
}
