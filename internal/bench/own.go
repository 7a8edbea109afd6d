package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// testCase is what all programs compute: a network with its hyperparameters and one batch.
type testCase struct {
	network  ebssc.Network
	settings experiments.Settings
	images   *tensors.Tensor // [N, H, W, C], standard normal
	labels   *tensors.Tensor // [N, 1]
}

// newCase is a row at a size, with the recipe's hyperparameters.
func newCase(row experiments.Experiment, size Size) testCase {
	c := testCase{network: row.Network(size.Width), settings: experiments.Recipe.With(row.Settings)}
	rng := rand.New(rand.NewPCG(1, 2))
	pixels := make([]float32, size.Batch*c.network.Height*c.network.Width*c.network.Channels)
	for i := range pixels {
		pixels[i] = float32(rng.NormFloat64())
	}
	labels := make([]int32, size.Batch)
	for i := range labels {
		labels[i] = rng.Int32N(int32(c.network.Classes))
	}
	c.images = tensors.FromFlatDataAndDimensions(pixels, size.Batch, c.network.Height, c.network.Width, c.network.Channels)
	c.labels = tensors.FromFlatDataAndDimensions(labels, size.Batch, 1)
	return c
}

// write writes the case into a folder, as the peers read it: case.json, variables.npz and batch.npz.
func (c testCase) write(folder string, variables map[string]*tensors.Tensor) error {
	description, err := json.Marshal(map[string]any{"network": c.network, "settings": c.settings})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "case.json"), description, 0o644); err != nil {
		return err
	}
	if err := numpy.ToNpzFile(variables, filepath.Join(folder, "variables.npz")); err != nil {
		return err
	}
	labels := tensors.FromValue(tensors.MustCopyFlatData[int32](c.labels))
	return numpy.ToNpzFile(map[string]*tensors.Tensor{"images": c.images, "labels": labels}, filepath.Join(folder, "batch.npz"))
}

// own is this program, as it trains.
type own struct {
	name    string
	c       testCase
	backend compute.Backend
	store   *model.Store
	forward *model.Exec
	trainer *train.Trainer
}

// newOwn is this program for a case, with fast operations or plain ones.
func newOwn(backend compute.Backend, c testCase, plain bool) (*own, error) {
	o := &own{name: "ebssc", c: c, backend: backend, store: model.NewStore()}
	if plain {
		o.name += "-plain"
	}
	o.store.SetParams(c.settings.With(experiments.Settings{ebssc.ParamPlainOps: plain}))
	o.store.SetParam(model.ParamInitialSeed, int64(1))
	if err := o.store.SetRNGStateFromSeed(1); err != nil {
		return nil, err
	}
	graph := func(scope *model.Scope, images *Node) *Node { return c.network.Forward(scope, images).Scores }
	var err error
	if o.forward, err = model.NewExec(backend, o.store, graph); err != nil {
		return nil, err
	}
	o.trainer = train.NewTrainer(backend, o.store, graph, loss.SparseCategoricalCrossEntropyLogits, optimizer.Adam().Done(), nil, nil)
	return o, nil
}

// scores computes the batch's class scores, without dropout.
func (o *own) scores() ([]float32, error) {
	output, err := o.forward.Call1(o.c.images)
	if err != nil {
		return nil, fmt.Errorf("%s: computing class scores: %w", o.name, err)
	}
	scores, err := tensors.CopyFlatData[float32](output)
	if err != nil {
		return nil, err
	}
	return scores, output.FinalizeAll()
}

// step takes one training step and waits for its loss, as training does.
func (o *own) step() error {
	// The trainer consumes its batch.
	images, err := o.c.images.OnDeviceClone(o.backend, 0)
	if err != nil {
		return err
	}
	labels, err := o.c.labels.OnDeviceClone(o.backend, 0)
	if err != nil {
		return err
	}
	metrics, err := o.trainer.TrainStep(train.Batch{Inputs: []*tensors.Tensor{images}, Labels: []*tensors.Tensor{labels}})
	if err != nil {
		return err
	}
	if value := tensors.ToScalar[float32](metrics[0]); math.IsNaN(float64(value)) {
		return fmt.Errorf("%s: the loss is %f", o.name, value)
	}
	for _, metric := range metrics {
		if err := metric.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}

func (o *own) turn(what string, steps int) (float64, error) {
	began := time.Now()
	for range steps {
		var err error
		if what == training {
			err = o.step()
		} else {
			_, err = o.scores()
		}
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / float64(steps), nil
}

// label is the program's name and the version of GoMLX in it.
func (o *own) label() (name, version string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/gomlx/gomlx" {
				return o.name, "gomlx " + strings.TrimPrefix(dependency.Version, "v")
			}
		}
	}
	return o.name, "unknown"
}

func (o *own) close() error {
	o.forward.Finalize()
	o.trainer.ResetComputationGraphs()
	o.store.Finalize()
	return nil
}
