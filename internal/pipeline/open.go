package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/dataset"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
	"ebsscgo/internal/train"
)

// Open reads the trained network of a recorded run from its folder of results, with its whitening,
// and starts a backend. If the whitening is not beside the network, Open finds the data set and
// fits it again. free frees all.
func Open(
	ctx context.Context, o Options, folder string, r record.Record,
) (network *decode.Trained, free func(), err error) {
	store, err := train.LoadNetwork(r, folder)
	if err != nil {
		return nil, nil, err
	}
	backend, choice, err := device.Open(ctx, o.Backend)
	if err != nil {
		return nil, nil, err
	}
	if choice.Warning != "" {
		fmt.Fprintln(o.Out, "warning: "+choice.Warning)
	}
	whitening, err := train.LoadWhitening(backend, folder, r.Run)
	if errors.Is(err, fs.ErrNotExist) {
		var set *dataset.Set
		if set, err = TrainedOn(ctx, o, r); err == nil {
			runner := train.Runner{Backend: backend, Set: set, Log: o.Out}
			whitening, err = runner.Whitening(ctx, r.Run)
		}
	}
	if err != nil {
		backend.Finalize()
		return nil, nil, err
	}
	network = decode.NewTrained(backend, r.Run, store, whitening)
	if r.Classes != nil {
		network.Classes = r.Classes
	}
	return network, func() {
		network.Close()
		backend.Finalize()
	}, nil
}

// TrainedOn finds the data set that a recorded run was trained on, or a copy of it.
func TrainedOn(ctx context.Context, o Options, r record.Record) (*dataset.Set, error) {
	study, _, err := catalogue.All.Experiment(r.Run.Experiment)
	if err != nil {
		return nil, err
	}
	if experiments.Own(r.Run.Dataset.Name) {
		return ownPictures(ctx, o, r)
	}
	kind, standsIn := study.Images, experiments.NamedImages(r.Run.Dataset.Name).StandsIn
	if standsIn {
		kind = kind.Images().StandIn
	}
	set, err := dataset.Find(ctx, kind, o.Data, o.Out)
	if err != nil {
		return nil, err
	}
	if standsIn {
		set = set.Padded32()
	}
	switch here, there := set.Dataset(), r.Run.Dataset; {
	case dataset.Copies(here, there):
		fmt.Fprintf(o.Out, "%s was trained on %s; it sees the same pictures here as %s\n",
			r.ID, dataset.Title(there.Name), dataset.Title(here.Name))
	case here != there:
		return nil, fmt.Errorf("%s was trained on %s with SHA-256 %s, but the data here is %s with "+
			"%s: give the same with --data", r.ID, there.Name, there.SHA256, here.Name, here.SHA256)
	}
	return set, nil
}

// ownPictures reads the folder of a person's own pictures that a run was trained on.
func ownPictures(ctx context.Context, o Options, r record.Record) (*dataset.Set, error) {
	if o.Pictures.Folder == "" {
		return nil, fmt.Errorf("%s was trained on pictures of one's own: name their folder with "+
			"--pictures", r.ID)
	}
	o.Pictures.Side, o.Pictures.Grey = r.Run.Network.Height, r.Run.Network.Channels == 1
	listed, err := o.Pictures.List()
	if err != nil {
		return nil, err
	}
	set, err := listed.Read(ctx, o.Out)
	if err == nil && set.SHA256 != r.Run.Dataset.SHA256 {
		err = fmt.Errorf("%s was trained on other pictures than those in %s: name their folder with "+
			"--pictures", r.ID, listed.Folder)
	}
	return set, err
}

// Halve replaces the file of a recorded run's network, in its folder of results, by one in half
// precision, and puts its whitening beside it: what a user needs who gets the network. It returns
// the number of the run's test images to which it gives another class than the record says.
func Halve(
	ctx context.Context, o Options, folder string, r record.Record,
) (changed int, err error) {
	store, err := train.LoadNetwork(r, folder)
	if err != nil {
		return 0, err
	}
	file, err := train.EncodeHalf(r.Run, store)
	if err != nil {
		return 0, err
	}
	if safefile.Sum(file) != r.Network.HalfSHA256 {
		return 0, fmt.Errorf("%s was recorded when half precision was rounded otherwise: train it "+
			"again with %s", r.ID, r.Command)
	}
	if err := device.Check(ctx, o.Backend, false); err != nil {
		return 0, err // before a data set is downloaded
	}
	set, err := TrainedOn(ctx, o, r)
	if err != nil {
		return 0, err
	}
	if set.Dataset() != r.Run.Dataset { // a copy, whose pixels give another whitening
		return 0, fmt.Errorf("%s can be halved with the data that it was trained on alone, %s: name "+
			"that with --data", r.ID, dataset.Title(r.Run.Dataset.Name))
	}
	backend, _, err := device.Open(ctx, o.Backend)
	if err != nil {
		return 0, err
	}
	err = (&train.Runner{Backend: backend, Set: set, Log: o.Out}).SaveWhitening(ctx, folder, r.Run)
	backend.Finalize()
	if err != nil {
		return 0, err
	}
	if err := safefile.Write(record.NetworkFile(folder, r.ID), file); err != nil {
		return 0, err
	}
	network, free, err := Open(ctx, o, folder, r)
	if err != nil {
		return 0, err
	}
	defer free()
	_, scores, err := network.Classify(ctx, train.Tested(set, r.Run))
	if err != nil {
		return 0, err
	}
	classes := r.Run.Network.Classes
	now := record.ClassText(scores.Predictions(), classes)
	for _, differs := range record.Differ(now, r.Predictions, classes) {
		if differs {
			changed++
		}
	}
	return changed, nil
}
