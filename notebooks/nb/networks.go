package nb

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/gonb/gonbui"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/device"
	"ebsscgo/internal/pipeline"
	"ebsscgo/internal/record"
	"ebsscgo/internal/report"
	"ebsscgo/internal/train"
)

// results is the folder of results, seen from the folder of the notebooks; ownResults is that of
// runs that notebooks train, which enter no report of it.
const results, ownResults = "../results", "../results/notebooks"

// Profile returns the profile that $EBSSC_PROFILE names, at which the notebooks compute; quick if
// it is empty.
func Profile() experiments.Profile {
	return Must(experiments.FindProfile(cmp.Or(os.Getenv("EBSSC_PROFILE"), "quick")))
}

// Backend starts the best backend, or the one that $GOMLX_BACKEND names. It is freed when the cell
// ends.
func Backend() compute.Backend {
	backend, _, err := device.Open(context.Background(), "")
	return Must(backend, err)
}

// Data returns the data set of a kind: from the folder that $EBSSC_DATA names, the cache or a
// download. If CIFAR-10 cannot be had, MNIST padded to its size replaces it.
func Data(which experiments.DataKind) *dataset.Set {
	return Must(dataset.FindOrStandIn(context.Background(), which, "", os.Stdout))
}

// Reports returns the verified records of a profile, sorted into what its reports show, and one of
// its studies. They are of the images that are here, or else of those of the committed results.
// Where the study has no record, it ends the cell with a line that says how to train it.
func Reports(profile, name string) (*report.Results, experiments.Study) {
	named, s := Must(experiments.FindProfile(profile)), Must(catalogue.All.Study(name))
	// Where it could not be downloaded when the notebooks were started.
	images := s.Images.Images().StandIn.Images().Padded
	if set := Must(dataset.Local(s.Images, "")); set != nil {
		images = set.Name
	}
	folders := reports(named, s, images)
	if len(folders) == 0 {
		fmt.Printf("profile %s has no records of study %s yet; to train it: "+
			"bin/ebssc run %[2]s --profile %[1]s\n", profile, name)
		gonbui.Sync()
		os.Exit(0)
	}
	return folders[0], s
}

// reports returns the folders of a profile that have records of a study: that of the images of a
// name, then that of the committed results.
func reports(profile experiments.Profile, s experiments.Study, images string) (
	folders []*report.Results) {
	both := []string{dataset.Folder(profile.Name, images), profile.Name}
	for _, folder := range slices.Compact(both) {
		if p := Must(report.Load(results, folder, profile)); len(p.Rows(s)) > 0 {
			folders = append(folders, p)
		}
	}
	return folders
}

// Trained returns the trained network of a declared experiment with its record, and a runner on its
// images: of the first recorded run whose network is here, at the profile that $EBSSC_PROFILE
// names, or at the largest that has one. Otherwise it trains a small network at profile smoke,
// once.
func Trained(name string) (*train.Runner, record.Record, *model.Store) {
	_, e, err := catalogue.All.Experiment(name)
	Check(err)
	s := alone(e)
	o := pipeline.Options{Profile: "smoke", Results: ownResults, Out: os.Stdout}
	session := Must(pipeline.Start(context.Background(), o, dataset.FindOrStandIn, s.Images))
	runner := session.Runners[s.Images]
	runner.Log = io.Discard
	profiles := experiments.Profiles
	if os.Getenv("EBSSC_PROFILE") != "" {
		profiles = []experiments.Profile{Profile()}
	}
	here := runner.Set.Dataset()
	for _, profile := range slices.Backward(profiles) {
		if profile.Scales[s.Name].Epochs == 0 {
			continue // it trains no such network
		}
		for _, p := range reports(profile, s, here.Name) {
			if there := p.Datasets[s.Images]; there != here && !dataset.Copies(there, here) {
				continue
			}
			for _, r := range p.Rows(s)[0].Records {
				if store, err := train.LoadNetwork(r, p.Folder); err == nil {
					return runner, r, store
				}
			}
		}
	}
	r := trained(pipeline.Options{Profile: "smoke"}, func([]experiments.Run) {}, e)[0][0]
	folder := filepath.Join(ownResults, dataset.Folder("smoke", runner.Set.Name))
	return runner, r, Must(train.LoadNetwork(r, folder))
}

// Describe says in a line which network a record is of, and how good it is.
func Describe(r record.Record) string {
	text := fmt.Sprintf("%s on %s, profile %s, %d images, %d epochs: train error %.2f %%, "+
		"test error %.2f %%, %d parameters",
		r.Run.Experiment, dataset.Title(r.Run.Dataset.Name), r.Run.Profile, r.Run.TrainImages,
		r.Run.Epochs, r.TrainErr, r.TestErr, r.Parameters)
	if wanted := Profile().Name; r.Run.Profile == "smoke" && wanted != "smoke" {
		text += "; it stands in for the one of profile " + wanted + ", whose network is not here"
	}
	return text
}

// FirstImages returns the first test images as the network of a record sees them [N, H, W, C], and
// their labels: as many as count, or more if that takes image number along.
func FirstImages(runner *train.Runner, r record.Record, count, number int) (
	*tensors.Tensor, []uint16) {
	test := runner.Set.Test.Slice(0, min(max(count, number+1), r.Run.TestImages))
	checkNumber(number, test.Len())
	whitening := Must(runner.Whitening(context.Background(), r.Run))
	return Must(train.Preprocess(runner.Backend, r.Run, whitening, test)), test.Labels
}
