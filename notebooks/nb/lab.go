package nb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// Results is the folder of results, seen from the folder of the notebooks.
const Results = "../results"

// ProfileEnv names the environment variable that chooses the notebooks' scale.
const ProfileEnv = "EBSSC_PROFILE"

// own is the folder of the runs that notebooks train. No profile has its name, so they enter no report.
var own = filepath.Join(Results, "notebooks")

// Profile is the name of the profile at which the notebooks compute.
func Profile() string {
	name := os.Getenv(ProfileEnv)
	if name == "" {
		name = "quick"
	}
	if _, err := experiments.FindProfile(name); err != nil {
		Check(fmt.Errorf("$%s: %w", ProfileEnv, err))
	}
	return name
}

// Backend starts the best backend, or the one that $GOMLX_BACKEND names. It is freed when the cell ends.
func Backend() compute.Backend { return start(Profile()).Backend }

// start starts a session at a profile.
func start(profile string) *study.Session {
	return Must(study.Start(context.Background(), study.Options{Profile: profile, Devices: 1, Jobs: 1, Results: Results, Out: os.Stdout}))
}

// Lab trains networks and finds trained ones, on the images of its Runner.
type Lab struct {
	*train.Runner
	session *study.Session
	images  experiments.Images
}

// NewLab starts a lab at a profile, on images of a kind.
func NewLab(profile string, images experiments.Images) *Lab {
	session := start(profile)
	runner := Must(session.Runner(context.Background(), images))
	runner.Log = io.Discard // Train shows progress in a chart
	return &Lab{runner, session, images}
}

// Train trains experiments one after another, one seed each, in a chart of their learning curves that grows with every epoch.
// settings override their profile's recipe. Runs that notebooks have already trained are not trained again.
func (l *Lab) Train(settings experiments.Settings, all ...experiments.Experiment) (records []Record) {
	place := newLive()
	chart := Chart{X: "epoch", Y: "error on training batches, %"}
	chart.Title = fmt.Sprintf("%s, profile %s", DatasetTitle(l.Set.Name), l.session.Profile)
	for i, e := range all {
		chart.Curves = append(chart.Curves, Curve{})
		l.OnEpoch = func(_ experiments.Run, epochs []Epoch) {
			chart.Curves[i] = LearningCurve(e.Title, epochs)
			place.show(Must(chart.First().Draw()))
		}
		r := Must(l.Runner.Train(context.Background(), l.plan(settings, e), own, nil))
		l.OnEpoch(r.Run, r.Curve)
		records = append(records, r)
	}
	return records
}

// LearningCurve is the error on training batches by epoch.
func LearningCurve(name string, epochs []Epoch) Curve {
	curve := Curve{Name: name}
	for _, epoch := range epochs {
		curve.Points = append(curve.Points, At(float64(epoch.Epoch), epoch.BatchErr))
	}
	return curve
}

// plan plans a run of an experiment, declared or of one's own.
func (l *Lab) plan(settings experiments.Settings, e experiments.Experiment) experiments.Run {
	declared, _, err := study.Suite.Experiment(e.Name)
	if err != nil && l.images == experiments.MNIST {
		declared.Report = experiments.Sweeps // whose scale is for MNIST
	}
	session := Must(l.session.With(l.session.Profile, experiments.Overrides{Seeds: 1, Settings: settings}))
	return Must(session.Plan(declared, e, l.Dataset()))[0]
}

// Model returns the trained model of an experiment with its record: the profile's recorded run on the lab's images or a
// copy of them, if its network is here too. Otherwise it trains a small network at profile smoke, once.
func (l *Lab) Model(e experiments.Experiment) (Record, *model.Store) {
	r, store, reason := l.recorded(e)
	if reason == nil {
		return r, store
	}
	small := &Lab{l.Runner, Must(l.session.With("smoke", experiments.Overrides{})), l.images}
	id := small.plan(nil, e).ID()
	r, err := record.Load(record.Path(filepath.Join(own, record.Folder), id))
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("%v; training a small network in its place\n", reason)
		r, err = small.Train(nil, e)[0], nil
	}
	Check(err)
	return r, Must(train.LoadModel(r.Run, own))
}

// Decoder returns the decoder of a trained network.
func (l *Lab) Decoder(r Record, store *model.Store) *Decoder {
	return new(study.Decoder(l.Runner, r.Run, store))
}

// FirstImages returns the first test images as the network of a record sees them [N, H, W, C], and their labels: as many as count,
// or more if that takes image number along.
func (l *Lab) FirstImages(r Record, count, number int) (*tensors.Tensor, []uint8) {
	images, labels, err := l.TestImages(context.Background(), r.Run, max(count, number+1))
	Check(err)
	if number >= len(labels) {
		Check(fmt.Errorf("there is no image %d: %s was tested on %d", number, r.ID, len(labels)))
	}
	return images, labels
}

// recorded returns the profile's recorded run of an experiment on the lab's images, or else on a copy of them, with its trained model, or the
// reason why not.
func (l *Lab) recorded(e experiments.Experiment) (Record, *model.Store, error) {
	reason := fmt.Errorf("profile %s has no record of %s on these images", l.session.Profile, e.Name)
	declared, _, err := study.Suite.Experiment(e.Name)
	if err != nil {
		return Record{}, nil, reason
	}
	reason = fmt.Errorf("%w (to train it: bin/ebssc run %s --only %s --profile %s)", reason, declared.Name, e.Name, l.session.Profile)
	settings := Reports(l.session.Profile).Settings(declared.Name)
	for _, fits := range []func(report.Setting) bool{
		func(s report.Setting) bool { return s.Dataset == l.Dataset() },
		func(s report.Setting) bool { return dataset.Copies(s.Dataset.Name, l.Set.Name) },
	} {
		for _, setting := range settings {
			group := setting.Groups[e.Name]
			if !fits(setting) || len(group) == 0 {
				continue
			}
			store, err := train.LoadModel(group[0].Run, l.session.Folder())
			if err == nil {
				return group[0], store, nil
			}
			reason = err
		}
	}
	return Record{}, nil, reason
}

// Trained returns the trained model of a declared experiment, see [Lab.Model], with its record and a lab on its images.
func Trained(name string) (*Lab, Record, *model.Store) {
	declared, e := Experiment(name)
	lab := NewLab(Profile(), declared.Images)
	r, store := lab.Model(e)
	return lab, r, store
}

// TrainedSweeps is [Trained] for an experiment of a study of sweeps, whose networks have two blocks and see digits as they are. Of another
// experiment it ends the cell.
func TrainedSweeps(name string) (*Lab, Record, *model.Store) {
	if declared, _ := Experiment(name); declared.Report != experiments.Sweeps {
		Check(fmt.Errorf("%q has no sweeps: choose an experiment of study unroll or unroll-both", name))
	}
	return Trained(name)
}
