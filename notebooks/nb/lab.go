package nb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/gonb/gonbui"

	"ebsscgo/experiments"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/study"
	"ebsscgo/internal/train"
)

// Results is the folder of results, seen from the folder of the notebooks.
const Results = "../results"

// own is the folder of the runs that notebooks train. No profile has its name, so they enter no report.
var own = filepath.Join(Results, "notebooks")

// Profile is the profile that $EBSSC_PROFILE names, at which the notebooks compute; quick if it is empty.
func Profile() experiments.Profile {
	const variable = "EBSSC_PROFILE"
	name := os.Getenv(variable)
	if name == "" {
		name = "quick"
	}
	profile, err := experiments.FindProfile(name)
	if err != nil {
		Check(fmt.Errorf("$%s: %w", variable, err))
	}
	return profile
}

// Backend starts the best backend, or the one that $GOMLX_BACKEND names. It is freed when the cell ends.
func Backend() compute.Backend { return start().Backend }

// start starts a session on images.
func start(images ...experiments.Images) *study.Session {
	options := study.Options{Profile: Profile().Name, Devices: 1, Results: Results, Out: os.Stdout}
	return Must(study.Start(context.Background(), options, dataset.FindOrStandIn, images...))
}

// Data returns the data set of a kind: from the folder that $EBSSC_DATA names, the cache or a download. If CIFAR-10 cannot be
// had, MNIST padded to its size replaces it.
func Data(which experiments.Images) *dataset.Set {
	return Must(dataset.FindOrStandIn(context.Background(), which, "", os.Stdout))
}

// Reports returns the verified records of a profile, sorted into what its reports show. Where there is none of a study it prints a
// line that says how to train it.
func Reports(profile, name string) (*report.Profile, experiments.Study) {
	named, declared := Must(experiments.FindProfile(profile)), Must(study.Suite.Study(name))
	p := Must(report.Load(Results, profile, named, study.Suite))
	if !slices.ContainsFunc(p.Studies, func(s experiments.Study) bool { return s.Name == name }) {
		fmt.Printf("profile %s has no records of study %s yet; to train it: bin/ebssc run %[2]s --profile %[1]s\n", profile, name)
	}
	return p, declared
}

// Lab trains networks and finds trained ones, on the images of its Runner.
type Lab struct{ *train.Runner }

// NewLab starts a lab on images of a kind.
func NewLab(images experiments.Images) *Lab {
	runner := start(images).Runners[images]
	runner.Log, runner.Checkpoints = io.Discard, filepath.Join(own, train.Checkpoints) // Train shows progress in a chart
	return &Lab{runner}
}

// Train trains experiments at a profile one after another, one seed each, in a chart of their learning curves that grows with every
// epoch. set changes their hyperparameters, as --set does. Runs that notebooks have already trained are not trained again.
func (l *Lab) Train(profile experiments.Profile, set string, all ...experiments.Experiment) (records []record.Record) {
	place := gonbui.UniqueId()
	chart := plot.Chart{X: "epoch", Y: "error on training batches, %"}
	chart.Title = fmt.Sprintf("%s, profile %s", dataset.Title(l.Set.Name), profile.Name)
	for i, e := range all {
		chart.Curves = append(chart.Curves, plot.Curve{})
		l.OnEpoch = func(_ experiments.Run, epochs []record.Epoch) {
			chart.Curves[i] = LearningCurve(e.Title, epochs)
			show(Must(chart.Draw()), place)
		}
		r := l.train(l.plan(profile, set, e))
		l.OnEpoch(r.Run, r.Curve)
		records = append(records, r)
	}
	return records
}

// LearningCurve is the error on training batches by epoch.
func LearningCurve(name string, epochs []record.Epoch) plot.Curve {
	curve := plot.Curve{Name: name}
	for _, epoch := range epochs {
		curve.Points = append(curve.Points, plot.At(float64(epoch.Epoch), epoch.BatchErr))
	}
	return curve
}

// plan plans a run of an experiment, declared or of one's own.
func (l *Lab) plan(profile experiments.Profile, set string, e experiments.Experiment) experiments.Run {
	scale, _, err := study.Suite.Experiment(e.Name)
	if err != nil {
		name := "table"
		if l.Set.Train.Channels == 1 {
			name = "unroll"
		}
		scale = Must(study.Suite.Study(name))
	}
	e.Decoded = false // cells decode
	scale.Experiments = []experiments.Experiment{e}
	return Must(experiments.Plan(scale, profile, l.Dataset(), experiments.Overrides{Seeds: 1, Set: set}))[0]
}

// train trains a run, and keeps its network and its record, unless they are here.
func (l *Lab) train(run experiments.Run) record.Record {
	folder := filepath.Join(own, record.Folder)
	r, err := record.Load(record.Path(folder, run.ID()))
	if !errors.Is(err, fs.ErrNotExist) {
		return Must(r, err)
	}
	Check(os.MkdirAll(l.Checkpoints, 0o755))
	r, store, err := l.Runner.Train(context.Background(), run)
	Check(err)
	network, sums, err := train.EncodeNetwork(run, store)
	Check(err)
	r.Network, r.Command = sums, "the notebook's cell"
	Check(os.MkdirAll(filepath.Join(own, train.Networks), 0o755))
	Check(safefile.Write(train.NetworkFile(own, run.ID()), network))
	r = Must(r.Save(folder))
	Check(train.RemoveCheckpoints(l.Checkpoints, run.ID()))
	return r
}

// Trained returns the trained network of a declared experiment with its record, and a lab on its images: of the profile's recorded run, if
// its network is here, too. Otherwise it trains a small network at profile smoke, once.
func Trained(name string) (*Lab, record.Record, *model.Store) {
	s, e, err := study.Suite.Experiment(name)
	Check(err)
	l := NewLab(s.Images)
	r, store, err := l.recorded(s, name)
	if err != nil {
		small := l.plan(Must(experiments.FindProfile("smoke")), "", e)
		if _, missing := os.Stat(record.Path(filepath.Join(own, record.Folder), small.ID())); missing != nil {
			fmt.Printf("%v; training a small network in its place\n", err)
		}
		r = l.train(small)
		store = Must(train.LoadNetwork(r, own))
	}
	return l, r, store
}

// recorded returns the profile's recorded run of an experiment on the lab's images or on a copy of them, with its trained network, or
// the reason why not.
func (l *Lab) recorded(s experiments.Study, name string) (r record.Record, store *model.Store, err error) {
	profile := Profile()
	err = fmt.Errorf("profile %s has no record of %s on these images (to train it: bin/ebssc run %s --only %[2]s --profile %[1]s)",
		profile.Name, name, s.Name)
	for _, folder := range []string{dataset.Folder(profile.Name, l.Set.Name), profile.Name} {
		p := Must(report.Load(Results, folder, profile, study.Suite))
		if set := p.Datasets[s.Images]; set != l.Dataset() && !dataset.Copies(set.Name, l.Set.Name) {
			continue
		}
		for _, row := range p.Rows(s) {
			if row.Name != name || len(row.Records) == 0 {
				continue
			}
			if store, err = train.LoadNetwork(row.Records[0], p.Folder); err == nil {
				return row.Records[0], store, nil
			}
		}
	}
	return r, nil, err
}

// Describe says in one line which network a record is of, and how good it is.
func Describe(r record.Record) string {
	return fmt.Sprintf("%s on %s, profile %s, %d images, %d epochs: train error %.2f %%, test error %.2f %%, %d parameters",
		r.Run.Experiment, dataset.Title(r.Run.Dataset.Name), r.Run.Profile, r.Run.TrainImages, r.Run.Epochs,
		r.TrainErr, r.TestErr, r.Parameters)
}

// Decoder returns the decoder of a trained network.
func (l *Lab) Decoder(r record.Record, store *model.Store) *decode.Model {
	return new(study.Decoder(l.Runner, r.Run, store))
}

// FirstImages returns the first test images as the network of a record sees them [N, H, W, C], and their labels: as many as count,
// or more if that takes image number along.
func (l *Lab) FirstImages(r record.Record, count, number int) (*tensors.Tensor, []uint8) {
	images, labels, _, err := l.TestImages(context.Background(), r.Run, max(count, number+1))
	Check(err)
	checkNumber(number, len(labels))
	return images, labels
}
