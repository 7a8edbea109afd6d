package pipeline

import (
	"context"
	"fmt"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
	"ebsscgo/internal/train"
)

// Open reads the trained network of a recorded run from its folder of results, and then starts a
// session on the run's images or on a copy of them. free frees both.
func Open(ctx context.Context, o Options, folder string, r record.Record) (
	network *decode.Trained, free func(), err error) {
	store, err := train.LoadNetwork(r, folder)
	if err != nil {
		return nil, nil, err
	}
	study, _, err := catalogue.All.Experiment(r.Run.Experiment)
	if err != nil {
		return nil, nil, err
	}
	images := study.Images
	if dataset.StandsIn(r.Run.Dataset.Name) {
		images = experiments.MNIST
	}
	o.Devices = 1
	s, err := Start(ctx, o, dataset.Find, images)
	if err != nil {
		return nil, nil, err
	}
	runner := s.Runners[images]
	if images != study.Images {
		runner.Set = runner.Set.Padded32()
	}
	switch here, there := runner.Set.Dataset(), r.Run.Dataset; {
	case dataset.Copies(here, there):
		fmt.Fprintf(o.Out, "%s was trained on %s; it sees the same pictures here as %s, preprocessed as these are\n",
			r.ID, dataset.Title(there.Name), dataset.Title(here.Name))
	case here != there:
		s.Backend.Finalize()
		return nil, nil, fmt.Errorf("%s was trained on %s with SHA-256 %s, but the data here is %s with %s: give the same with --data",
			r.ID, there.Name, there.SHA256, here.Name, here.SHA256)
	}
	network = decode.NewTrained(runner, r.Run, store)
	return network, func() {
		network.Close()
		s.Backend.Finalize()
	}, nil
}
