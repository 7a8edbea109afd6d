package experiments

import (
	"fmt"

	"ebsscgo/ebssc"
)

// Fit asks when the energy-based classifier helps. Over 13 scales its step in test error followed
// the training error of its base, SSC+LC₇: the worse that is, the more the classifier helps. But
// there wide networks were also trained longest. Here width and fit are crossed, parameters are
// made equal, and both rows are tuned alike. The scale is the table's.
var Fit = []Experiment{
	{Name: "ssc-lc7-wide", Title: "SSC+LC₇, wide, short",
		Architecture: SevenBlocks{Body: ebssc.SSC}, Rescale: wideAndShort},
	{Name: "ssc-ebc67-wide", Title: "SSC+EBC₆₋₇, wide, short",
		Base: "ssc-lc7-wide", Adds: "classifier, wide, short training",
		Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 6}, Rescale: wideAndShort},
	{Name: "ssc-lc7-few", Title: "SSC+LC₇, few images, long",
		Architecture: SevenBlocks{Body: ebssc.SSC}, Rescale: fewAndLong},
	{Name: "ssc-ebc67-few", Title: "SSC+EBC₆₋₇, few images, long",
		Base: "ssc-lc7-few", Adds: "classifier, few images, long training",
		Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 6}, Rescale: fewAndLong},
	{Name: "ssc-lc7-parameters", Title: "SSC+LC₇, equal parameters",
		Base: "ssc-ebc67", Adds: "linear classifier, equal parameters",
		Architecture: SevenBlocks{Body: ebssc.SSC},
		Rescale:      func(s *Scale) { s.Width = s.Width * 25 / 16 }},
	{Name: "ssc-lc7-tuned", Title: "SSC+LC₇, tuned",
		Architecture: SevenBlocks{Body: ebssc.SSC},
		Change:       func(h *Hyper) { h.ClassifierScale = 30 }},
	{Name: "ssc-ebc67-tuned", Title: "SSC+EBC₆₋₇, tuned",
		Base: "ssc-lc7-tuned", Adds: "classifier, both tuned",
		Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 6},
		Change:       func(h *Hyper) { h.ClassLRScale, h.EnergyScale = 30, 100 }},
}

// wideAndShort takes six times the width in a quarter of the epochs: at profile quick the paper's
// width, and one epoch.
func wideAndShort(s *Scale) { s.Width, s.Epochs = 6*s.Width, max(1, s.Epochs/4) }

// fewAndLong takes a tenth of the images in sixteen times the epochs.
func fewAndLong(s *Scale) { s.TrainImages, s.Epochs = s.TrainImages/10, 16*s.Epochs }

// Width asks whether the energy-based classifier helps in narrow networks alone, which study fit
// showed at two widths, without asking. Both rows are trained at once, twice and three times the
// scale's width, for as long as the wide rows of study fit.
var Width = atWidths(1, 2, 3)

// atWidths returns the classifier and its base at so many times the scale's width.
func atWidths(all ...int) (rows []Experiment) {
	for _, times := range all {
		wider := func(s *Scale) { s.Width *= times }
		base, suffix := fmt.Sprintf("ssc-lc7-width-%d", times), fmt.Sprintf(", %d × the width", times)
		rows = append(rows,
			Experiment{Name: base, Title: "SSC+LC₇" + suffix,
				Architecture: SevenBlocks{Body: ebssc.SSC}, Rescale: wider},
			Experiment{Name: fmt.Sprintf("ssc-ebc67-width-%d", times), Title: "SSC+EBC₆₋₇" + suffix,
				Base: base, Adds: "classifier" + suffix,
				Architecture: SevenBlocks{Body: ebssc.SSC, EBCFrom: 6}, Rescale: wider})
	}
	return rows
}

// ClassifierStep is a pair of rows that the energy-based classifier alone sets apart. Note says
// what is special beside width and epochs.
type ClassifierStep struct{ Note, Subject, Base string }

// ClassifierSteps are the scales at which the classifier was tried, the table's first.
var ClassifierSteps = []ClassifierStep{
	{"", "ssc-ebc67", "ssc-lc7"},
	{"", "ssc-ebc67-wide", "ssc-lc7-wide"},
	{"", "ssc-ebc67-width-1", "ssc-lc7-width-1"},
	{"", "ssc-ebc67-width-2", "ssc-lc7-width-2"},
	{"", "ssc-ebc67-width-3", "ssc-lc7-width-3"},
	{"5,000 images", "ssc-ebc67-few", "ssc-lc7-few"},
	{"tuned", "ssc-ebc67-tuned", "ssc-lc7-tuned"},
	{"20,000 images", "ssc-ebc67-base", "ssc-lc7-base"},
	{"Adam", "ssc-ebc67-adam", "ssc-lc7-adam"},
	{"Fashion-MNIST", "ssc-ebc67-fashion", "ssc-lc7-fashion"},
}

// FitIntercept and FitSlope are the line through the classifier's steps at 13 scales, before the
// runs of study fit: step = 0.69 − 0.076 × (training error of SSC+LC₇ in %), in points of test
// error.
const FitIntercept, FitSlope = 0.69, -0.076

// fitClaims are this project's. The line asks for about −0.75 points in the wide network.
var fitClaims = []Claim{
	{Name: "fit-wide", Ours: true, Where: "study fit",
		Says: "At the paper's width, too, the classifier lowers the test error while its base is " +
			"badly fitted.",
		Expect: []Expectation{Lower(TestErr, "ssc-ebc67-wide", "ssc-lc7-wide")}},
	{Name: "fit-few", Ours: true, Where: "study fit",
		Says:    "In a narrow network that fits its images well the classifier hardly helps.",
		Reading: "by less than 0.3 points",
		Expect:  []Expectation{between(TestErr, "ssc-ebc67-few", "ssc-lc7-few", -0.3, infinity)}},
	{Name: "fit-parameters", Ours: true, Where: "study fit",
		Says:   "With as many parameters as SSC+EBC₆₋₇ the linear classifier errs less.",
		Expect: []Expectation{Lower(TestErr, "ssc-lc7-parameters", "ssc-ebc67")}},
	{Name: "fit-tuned", Ours: true, Where: "study fit",
		Says:    "With both rows tuned, at least half of the classifier's step is gone.",
		Reading: "above −0.31 points, half of the step in the table at profile quick",
		Expect:  []Expectation{between(TestErr, "ssc-ebc67-tuned", "ssc-lc7-tuned", -0.31, infinity)}},
}

// widthClaims are this project's.
var widthClaims = []Claim{
	{Name: "width-narrow", Ours: true, Where: "study width",
		Says:   "After one epoch, too, the classifier lowers the test error of a narrow network.",
		Expect: []Expectation{Lower(TestErr, "ssc-ebc67-width-1", "ssc-lc7-width-1")}},
	{Name: "width-less", Ours: true, Where: "study width",
		Says: "In a network three times as wide it lowers the test error by less, or raises it.",
		Expect: []Expectation{larger(TestErr, "ssc-ebc67-width-3", "ssc-lc7-width-3",
			"ssc-ebc67-width-1", "ssc-lc7-width-1")}},
}
