package nb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/pipeline"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/stats"
)

// Train trains experiments one after another, with one seed each unless the options name more, and
// returns the records of each in the order of seeds. A bar shows how far it is, and below it a
// chart of the learning curves grows. Runs that notebooks have already trained are not trained
// again. When the cell is interrupted, the run saves its step; the next time it goes on from there.
func Train(o pipeline.Options, all ...experiments.Experiment) [][]record.Record {
	p := &progress{bar: gonbui.UniqueId(), chart: gonbui.UniqueId(), all: all}
	p.say(0, "preparing images and compiling")
	o.OnProgress = p.grow
	records := trained(o, p.begin, all...)
	for _, r := range slices.Concat(records...) {
		p.curve(r.Run, r.Curve)
	}
	p.draw()
	p.say(1, fmt.Sprintf("%d of %[1]d runs trained", len(p.runs)))
	return records
}

// trained trains experiments in one session and returns the records of each. begin gets the runs
// before it starts.
func trained(o pipeline.Options, begin func([]experiments.Run), all ...experiments.Experiment) (
	records [][]record.Record) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o.Results, o.Jobs, o.Out = ownResults, 1, io.Discard // a bar shows progress
	o.Seeds = cmp.Or(o.Seeds, 1)
	find, own := Data, o.Pictures // listed; the pipeline lists them itself
	if own.Folder != "" {
		own = Must(own.List())
		find = func(experiments.DataKind) *dataset.Set { return Must(own.Read(ctx, os.Stdout)) }
	}
	var studies experiments.Suite
	var planned [][]experiments.Run
	sets := map[experiments.DataKind]*dataset.Set{}
	for _, e := range all {
		s := alone(e)
		studies = append(studies, s)
		if sets[s.Images] == nil {
			sets[s.Images] = find(s.Images)
		}
		if own.Folder != "" { // where other pictures may lie the next time
			s, o.Results = s.On(own.Images()), filepath.Join(ownResults, sets[s.Images].SHA256[:12])
		}
		planned = append(planned, Must(experiments.Plan(s, Must(experiments.FindProfile(o.Profile)),
			sets[s.Images].Dataset(), o.Overrides)))
	}
	begin(slices.Concat(planned...))
	reports, diverged, err := pipeline.Run(ctx, o, studies)
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = errors.New("interrupted: run the cell again, and it goes on from the saved step")
	}
	Check(errors.Join(diverged, err))
	for _, runs := range planned {
		var of []record.Record
		for _, run := range runs {
			folder := dataset.Folder(o.Profile, run.Dataset.Name)
			of = append(of, reports[folder].Records[run.ID()])
		}
		records = append(records, of)
	}
	return records
}

// alone returns the study of an experiment with no other. One's own experiment is of the scale of
// the first study on its images.
func alone(e experiments.Experiment) experiments.Study {
	s, _, err := catalogue.All.Experiment(e.Name)
	if err != nil {
		at := slices.IndexFunc(catalogue.All, func(s experiments.Study) bool {
			return e.Fits(s.Images)
		})
		s = catalogue.All[max(0, at)] // planning says what is wrong with other images
	}
	e.Decoded = false // cells decode
	s.Experiments = []experiments.Experiment{e}
	return s
}

// progress of runs, in two places of the cell's output.
type progress struct {
	bar, chart string // the IDs of the places
	all        []experiments.Experiment
	runs       []experiments.Run
	drawing    plot.Chart
	shown      time.Time     // when the bar was
	drawn      time.Time     // when the chart was drawn
	cost       time.Duration // and what that took
}

// begin takes the runs, in the order in which they train.
func (p *progress) begin(runs []experiments.Run) {
	p.runs = runs
	p.drawing = plot.Chart{X: "epoch", Y: "error on training batches, %",
		Title:  fmt.Sprintf("%s, profile %s", dataset.Title(runs[0].Dataset.Name), runs[0].Profile),
		Curves: make([]plot.Curve, len(runs))}
}

// grow shows how far a run is, five times a second at most: short epochs would flood the editor.
// The chart takes a twentieth of the time at most.
func (p *progress) grow(run experiments.Run, epochs []record.Epoch, pace string) {
	if time.Since(p.shown) < time.Second/5 {
		return
	}
	p.shown = time.Now()
	at, last := p.curve(run, epochs), epochs[len(epochs)-1]
	steps := run.Epochs * run.StepsPerEpoch()
	share := (float64(at) + float64(last.Step)/float64(steps)) / float64(len(p.runs))
	p.say(share, fmt.Sprintf("run %d of %d, %s, seed %d, epoch %d of %d: %s", at+1, len(p.runs),
		p.title(run), run.Seed, last.Epoch, run.Epochs, pace))
	if time.Since(p.drawn) > 20*p.cost {
		p.draw()
	}
}

// title returns that of a run's experiment.
func (p *progress) title(run experiments.Run) string {
	named := func(e experiments.Experiment) bool { return e.Name == run.Experiment }
	return p.all[slices.IndexFunc(p.all, named)].Title
}

// mostNamed is the largest number of curves that a legend names.
const mostNamed = 10

// curve sets the curve of a run to its epochs so far, and returns the run's place among all.
func (p *progress) curve(run experiments.Run, epochs []record.Epoch) int {
	at := slices.IndexFunc(p.runs, func(other experiments.Run) bool { return other.ID() == run.ID() })
	curve := plot.Curve{}
	if len(p.runs) <= mostNamed {
		curve.Name = fmt.Sprintf("%s, seed %d", p.title(run), run.Seed)
	}
	for _, epoch := range epochs {
		x := float64(epoch.Step) / float64(run.StepsPerEpoch())
		curve.Points = append(curve.Points, plot.At(x, epoch.BatchErr))
	}
	p.drawing.Curves[at] = curve
	return at
}

// draw draws the chart.
func (p *progress) draw() {
	began := time.Now()
	show(Must(plot.Charts(p.drawing)), p.chart)
	p.drawn, p.cost = time.Now(), time.Since(began)
}

// say shows a share from 0 to 1 as a bar, with words beside it.
func (p *progress) say(share float64, words string) {
	const width = 30
	full := int(share*width + 0.5)
	markdown("`"+strings.Repeat("█", full)+strings.Repeat("░", width-full)+"` "+words, p.bar)
}

// Differences estimates how much the test error of a row is above those of other rows, from their
// records by seed: for other seeds and other test images. As in reports, the variance between seeds
// is pooled over all of the differences.
func Differences(row []record.Record, others ...[]record.Record) (all []stats.Estimate) {
	sums, images := make([]stats.Sum, len(others)), make([]stats.ByImage, len(others))
	for i, other := range others {
		sums[i].SquaredWeights = 2
		for seed, r := range row {
			sums[i].Values = append(sums[i].Values, r.TestErr-other[seed].TestErr)
			points := make([]float64, r.Run.TestImages)
			r.AddErrors(points, 1)
			other[seed].AddErrors(points, -1)
			images[i] = append(images[i], points)
		}
	}
	for i, sum := range sums {
		_, both := sum.Estimate(sums...).OverImages(images[i])
		all = append(all, both)
	}
	return all
}

// Step returns the difference in test error between a row and its base as a point above the base's
// training error, with its interval: a point of the chart that [report.ClassifierSteps] draws.
func Step(row, base []record.Record) plot.Point {
	var fits []float64
	for _, r := range base {
		fits = append(fits, r.TrainErr)
	}
	step := Differences(row, base)[0]
	low, high := step.Interval()
	return plot.Point{X: stats.SampleOf(fits).Mean, Mean: step.Value, Low: low, High: high}
}
