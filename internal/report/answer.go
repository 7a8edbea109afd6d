package report

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"ebsscgo/experiments"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/stats"
)

// WriteAnswer writes what the results of all profiles say together. The classifier's step at every
// scale goes to classifier.svg and classifier.csv in the folder of results. The steps of the table
// at all profiles, and how many claims agree at the smallest of them, go between the marks of the
// README.md beside that folder, if that is called results: other folders may lie beside them in the
// project. A README without marks stays as it is.
func WriteAnswer(results string, folders map[string]*Results) error {
	profiles := largestFirst(slices.Collect(maps.Values(folders)))
	if err := writeClassifier(results, profiles); err != nil {
		return err
	}
	results, err := filepath.Abs(results)
	if err != nil || filepath.Base(results) != "results" {
		return err
	}
	path := filepath.Join(results, "..", File)
	old, err := safefile.Read(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // that of somebody else has no marks
	}
	if err != nil {
		return err
	}
	blocks := map[string]string{"claims": "", "differences": ""} // empty without results
	if len(profiles) > 0 {
		blocks["claims"] = tally(profiles[len(profiles)-1])
	}
	for i, p := range slices.Backward(profiles) { // the largest with the table comes last
		for _, study := range p.Studies {
			if study.Headline {
				blocks["differences"] = p.Differences(study, profiles[i+1:]...).Markdown()
			}
		}
	}
	content := string(old)
	for mark, text := range blocks {
		before, rest, begins := strings.Cut(content, "<!-- "+mark+" -->\n")
		_, after, ends := strings.Cut(rest, "<!-- /"+mark+" -->")
		if begins && ends {
			content = before + "<!-- " + mark + " -->\n\n" + text + "\n<!-- /" + mark + " -->" + after
		}
	}
	return replace(path, []byte(content))
}

// writeClassifier writes the classifier's step at every scale, if there is one; else what is there
// stays.
func writeClassifier(results string, profiles []*Results) error {
	t, chart := ClassifierSteps(profiles)
	if len(t.Rows) < 2 { // the paper's alone
		return nil
	}
	picture, err := chart.Draw().SVG()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{".csv": t.CSV(), ".svg": picture} {
		if err := replace(filepath.Join(results, t.Name+name), content); err != nil {
			return err
		}
	}
	return nil
}

// largestFirst returns the results in the profiles' own folders, of the largest profile first,
// without demos and folders that have no record of a planned run.
func largestFirst(all []*Results) (profiles []*Results) {
	for _, profile := range slices.Backward(experiments.Profiles) {
		for _, p := range all {
			if filepath.Base(p.Folder) == profile.Name && !p.Demo && len(p.Studies) > 0 {
				profiles = append(profiles, p)
			}
		}
	}
	return profiles
}

// ClassifierSteps returns the classifier's step in test error, beside the training error of its
// base, at each scale at which both rows were trained, the widest networks first, and a chart of
// it, in which each width has its colour. The paper's own is the last.
func ClassifierSteps(all []*Results) (Table, plot.Scatter) {
	profiles := largestFirst(all)
	t := Table{Name: "classifier", Columns: []Column{{Title: "scale", Name: "scale"},
		{Name: "profile"}, {Name: "experiment"}, {Name: "base"},
		{Title: "training error of the base %", Name: "base_train_err", Kind: Number},
		{Title: "step in test error, points", Name: "step", Kind: Interval},
		{Title: "seeds", Name: "seeds", Kind: Number}, {Name: "planned_seeds", Kind: Number}}}
	chart := plot.Scatter{Title: "What the energy-based classifier changes",
		X:     "training error of its base, SSC+LC₇ (%)",
		Y:     "its step in test error (points, with 95 % intervals)",
		Slope: experiments.FitSlope, Intercept: experiments.FitIntercept, Line: "predicted"}
	add := func(name, curve, profile string, of experiments.ClassifierStep, trainErr float64,
		step Cell, seeds, planned int) {
		t.Rows = append(t.Rows, []Cell{text(name), text(profile), text(of.Subject), text(of.Base),
			number(trainErr, 2), step, count(seeds), count(planned)})
		at := slices.IndexFunc(chart.Curves, func(c plot.Curve) bool { return c.Name == curve })
		if at < 0 {
			at = len(chart.Curves)
			chart.Curves = append(chart.Curves, plot.Curve{Name: curve, Hollow: profile == ""})
		}
		chart.Curves[at].Points = append(chart.Curves[at].Points,
			plot.Point{X: trainErr, Mean: step.value, Low: step.low, High: step.high})
	}
	type pair struct {
		experiments.ClassifierStep
		profile       string
		subject, base Row
		difference    stats.Estimate
	}
	var pairs []pair
	for _, p := range profiles {
		for _, step := range experiments.ClassifierSteps {
			subject, base := p.rows[step.Subject], p.rows[step.Base]
			_, both := p.Difference(step.Subject, step.Base)
			if kind := subject.Study.Images; both.N > 0 && kind.Has(p.Datasets[kind].Name) {
				pairs = append(pairs, pair{step, p.Name, subject, base, both})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.base.width - a.base.width })
	for _, p := range pairs {
		curve := fmt.Sprintf("width %d", p.base.width)
		if kind := p.subject.Study.Images; kind != experiments.CIFAR10 {
			curve += ", " + string(kind)
		}
		add(scaleName(p.base.Records[0].Run, p.Note), curve, p.profile, p.ClassifierStep,
			p.base.Sample(experiments.TrainErr).Mean, interval(p.difference, "%.2f"), p.difference.N,
			p.subject.Planned)
	}
	if len(profiles) > 0 {
		step := experiments.ClassifierSteps[0]
		subject, base := profiles[0].rows[step.Subject], profiles[0].rows[step.Base]
		add("Kong & Fowlkes", "Kong & Fowlkes", "", step, base.Paper.TrainErr,
			comparison{subject: subject, base: base}.paper(), 1, 1)
	}
	return t, chart
}

// scaleName names the scale of a run: "width 96, 40 epochs, dropout", with a note if there is one.
func scaleName(run experiments.Run, note string) string {
	name := fmt.Sprintf("width %d, %d epochs", run.Width(), run.Epochs)
	if run.Epochs == 1 {
		name = strings.TrimSuffix(name, "s")
	}
	if run.Hyper.Dropout > 0 {
		name += ", dropout"
	}
	if note != "" {
		name += ", " + note
	}
	return name
}

// tally counts the verdicts of a profile on the claims that the paper's text states, on those that
// were read off its tables and source, and on this project's.
func tally(p *Results) string {
	said := "Claims at " + p.Name + " (open: chance can explain what was measured; not judged: " +
		"seeds are missing):\n"
	verdicts := slices.Concat(p.Claims(false), p.Claims(true))
	for _, kind := range []struct {
		name          string
		ours, readOff bool
	}{
		{"that the paper's text states", false, false},
		{"read off its tables and its source's comments", false, true},
		{"of this project", true, false},
	} {
		all, words := 0, map[string]int{}
		for _, v := range verdicts {
			if v.Ours == kind.ours && v.ReadOff == kind.readOff {
				all++
				words[v.Word]++
			}
		}
		if all > 0 { // the last number is of claims without a verdict
			said += fmt.Sprintf("\n- %d %s: agree %d, disagree %d, open %d, not judged %d", all,
				kind.name, words[Agrees], words[Disagrees], words[Open], words[""])
		}
	}
	return said + "\n"
}
