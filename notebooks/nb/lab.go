package nb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// Results is the folder of results, from the folder of the notebooks.
const Results = "../results"

// ProfileEnv names the environment variable that chooses the notebooks' scale.
const ProfileEnv = "EBSSC_PROFILE"

// Profile is the scale at which the notebooks compute.
func Profile() experiments.Profile {
	name := os.Getenv(ProfileEnv)
	if name == "" {
		name = "quick"
	}
	profile, err := experiments.FindProfile(name)
	if err != nil {
		Check(fmt.Errorf("$%s: %w", ProfileEnv, err))
	}
	return profile
}

// Backend starts what computes: the best that is there, or what $GOMLX_BACKEND says. It is freed when the cell ends.
func Backend() compute.Backend {
	opened, _ := open()
	return opened
}

func open() (compute.Backend, device.Choice) {
	opened, choice, err := device.Open(context.Background(), "", 1)
	Check(err)
	if choice.Warning != "" {
		fmt.Println("warning: " + choice.Warning)
	}
	return opened, choice
}

// Images are a data set: from the folder that $EBSSC_DATA names, or else from the cache, downloaded if need be. Where CIFAR-10
// cannot be had, MNIST padded to its size stands in.
func Images(which experiments.Images) *dataset.Set {
	return Must(dataset.Find(context.Background(), which, "", os.Stdout))
}

// Lab trains networks and finds trained ones.
type Lab struct {
	train.Lab
	// Images that the networks see.
	Images experiments.Images
	// Results is the folder of results.
	Results string

	backend string
}

// NewLab is a lab for those images. What it needs, it downloads.
func NewLab(images experiments.Images) *Lab {
	opened, choice := open()
	return &Lab{
		Lab:    train.Lab{Backend: opened, Set: Images(images), Log: os.Stdout, Commit: "notebook"},
		Images: images, Results: Results, backend: choice.Name,
	}
}

// own is the folder of runs that notebooks trained, among the profiles in the folder of results: tables and reports are made
// without them.
const own = "notebooks"

// Train trains experiments one after the other, one seed each, in a figure of their learning curves that grows with every
// epoch. settings are those in which they shall differ from their profile's recipe. Runs that are finished, here or in an
// earlier cell, are not trained again.
func (l *Lab) Train(profile experiments.Profile, settings experiments.Settings, all ...experiments.Experiment) (results []train.Result) {
	live := NewLive()
	chart := plot.Chart{X: "epoch", Y: "error on the batches trained on, %"}
	chart.Title = fmt.Sprintf("%s, profile %s", dataset.Title(l.Set.Name), profile.Name)
	for _, e := range all {
		run, folder := l.plan(profile, settings, e)
		chart.Curves = append(chart.Curves, plot.Curve{Name: e.Title})
		redraw := func() {
			points := curvePoints(Must(train.ReadCurve(filepath.Join(folder, train.CurveFile))))
			if len(points) > 0 {
				chart.Curves[len(chart.Curves)-1].Points = points
				live.Show(Must(chart.Draw()))
			}
		}
		l.Log = eachLine(redraw)
		results = append(results, Must(l.Lab.Train(context.Background(), run, filepath.Dir(folder))))
		redraw()
	}
	return results
}

// plan is a run of an experiment, and its folder.
func (l *Lab) plan(profile experiments.Profile, settings experiments.Settings, e experiments.Experiment) (run experiments.Run, folder string) {
	study, _, ok := experiments.StudyOf(e.Name)
	if !ok && l.Images == experiments.MNIST { // an experiment of one's own
		study.Report = experiments.Sweeps
	}
	scale := profile.Scale(study)
	scale.Seeds = 1
	run = Must(experiments.Plan(e, profile.Name, scale, l.Dataset(), experiments.Machine{Backend: l.backend}, settings, 0))[0]
	return run, filepath.Join(l.Results, own, report.RunsFolder, Must(run.ID()))
}

// eachLine is a log that looks at what happened when something is written to it.
type eachLine func()

// Write calls the function.
func (f eachLine) Write(line []byte) (int, error) {
	f()
	return len(line), nil
}

// curvePoints are the points of a learning curve.
func curvePoints(curve []train.Epoch) (points []plot.Point) {
	for _, epoch := range curve {
		points = append(points, plot.At(float64(epoch.Epoch), epoch.BatchErr))
	}
	return points
}

// Model is a trained model of an experiment on the lab's images, with its result: the one that was asked for last among the
// profile's recorded runs. Where none is recorded, one is trained at scale smoke.
func (l *Lab) Model(profile experiments.Profile, e experiments.Experiment) (train.Result, *model.Store) {
	groups := Must(report.Collect(filepath.Join(l.Results, profile.Name)))
	if latest := report.Latest(groups, e.Name); latest != nil && latest[0].Run.SHA256 == l.Set.SHA256 {
		result := latest[0]
		folder := filepath.Join(l.Results, profile.Name, report.RunsFolder, result.ID)
		return result, Must(train.LoadModel(result.Run, folder))
	}
	smoke := Must(experiments.FindProfile("smoke"))
	_, folder := l.plan(smoke, nil, e)
	result, ok, err := train.Load(folder)
	Check(err)
	if !ok {
		fmt.Printf("no trained %s is recorded for profile %s (bin/ebssc run makes one), so a small one is trained here\n", e.Name, profile.Name)
		result = l.Train(smoke, nil, e)[0]
	}
	return result, Must(train.LoadModel(result.Run, folder))
}
