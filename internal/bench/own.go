package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
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
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
)

// The names of this program, with fast operations and without.
const (
	fastProgram  = "ebssc"
	plainProgram = "ebssc-plain"
)

// own is this program, as it trains.
type own struct {
	c       testCase
	backend compute.Backend
	store   *model.Store
	forward *model.Exec
	trainer *train.Trainer
	labels  *tensors.Tensor // [N, 1]
}

// newOwn is this program for a case, with fast operations or plain ones.
func newOwn(backend compute.Backend, c testCase, plain bool) (*own, error) {
	o := &own{c: c, backend: backend, store: model.NewStore()}
	o.store.SetParams(c.Settings.With(experiments.Settings{ebssc.ParamPlainOps: plain}))
	o.store.SetParam(model.ParamInitialSeed, int64(1))
	if err := o.store.SetRNGStateFromSeed(1); err != nil {
		return nil, err
	}
	labels, err := tensors.CopyFlatData[int32](c.labels)
	if err != nil {
		return nil, err
	}
	o.labels = tensors.FromFlatDataAndDimensions(labels, len(labels), 1)
	graph := func(scope *model.Scope, images *Node) *Node { return c.Network.Forward(scope, images).Scores }
	if o.forward, err = model.NewExec(backend, o.store, graph); err != nil {
		return nil, err
	}
	o.trainer = train.NewTrainer(backend, o.store, graph, loss.SparseCategoricalCrossEntropyLogits, optimizer.Adam().Done(), nil, nil)
	return o, nil
}

// scores computes the batch's class scores [N, Y], without dropout.
func (o *own) scores() (*tensors.Tensor, error) {
	scores, err := o.forward.Call1(o.c.images)
	if err != nil {
		return nil, fmt.Errorf("computing class scores: %w", err)
	}
	return scores, nil
}

// infer computes the class scores and has them in this program's memory.
func (o *own) infer() error {
	scores, err := o.scores()
	if err != nil {
		return err
	}
	if _, err := tensors.CopyFlatData[float32](scores); err != nil {
		return err
	}
	return scores.FinalizeAll()
}

// step takes one training step and waits for its loss, as training does.
func (o *own) step() error {
	// The trainer consumes its batch.
	images, err := o.c.images.OnDeviceClone(o.backend, 0)
	if err != nil {
		return err
	}
	labels, err := o.labels.OnDeviceClone(o.backend, 0)
	if err != nil {
		return err
	}
	metrics, err := o.trainer.TrainStep(train.Batch{Inputs: []*tensors.Tensor{images}, Labels: []*tensors.Tensor{labels}})
	if err != nil {
		return err
	}
	if value := tensors.ToScalar[float32](metrics[0]); math.IsNaN(float64(value)) {
		return fmt.Errorf("the loss is %f", value)
	}
	for _, metric := range metrics {
		if err := metric.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}

// turn takes steps and measures what one costs.
func (o *own) turn(what string, steps int) (spent cost, err error) {
	if err := forgetPeak(); err != nil {
		return cost{}, err
	}
	step, known := map[string]func() error{training: o.step, inference: o.infer}[what]
	if !known {
		return cost{}, fmt.Errorf("%q is neither %s nor %s", what, training, inference)
	}
	began := time.Now()
	for range steps {
		if err := step(); err != nil {
			return cost{}, err
		}
	}
	spent.seconds = time.Since(began).Seconds() / float64(steps)
	spent.peak, err = peakMemory()
	return spent, err
}

// version is that of GoMLX in this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "github.com/gomlx/gomlx" {
				return "gomlx " + strings.TrimPrefix(dependency.Version, "v")
			}
		}
	}
	return "unknown"
}

func (o *own) close() {
	o.forward.Finalize()
	o.trainer.ResetComputationGraphs()
	o.store.Finalize()
}

// Serve is this program as one of those that are measured, with fast operations or plain ones: a process of its own, as
// the others are, which speaks their protocol (peers/peer.py) until its input ends. The one with fast operations writes
// the initial variables, too.
func Serve(backend compute.Backend, folder string, plain bool, in io.Reader, out io.Writer) (err error) {
	c, err := readCase(folder)
	if err != nil {
		return err
	}
	// Graph building panics; here is the one place where that becomes an error.
	panicked := exceptions.TryCatch[error](func() { err = serve(backend, c, folder, plain, in, out) })
	return errors.Join(panicked, err)
}

func serve(backend compute.Backend, c testCase, folder string, plain bool, in io.Reader, out io.Writer) error {
	o, err := newOwn(backend, c, plain)
	if err != nil {
		return err
	}
	defer o.close()
	scores, err := o.scores()
	if err != nil {
		return err
	}
	name := plainProgram
	if !plain {
		name = fastProgram
		if err := numpy.ToNpzFile(c.Network.Variables(o.store), filepath.Join(folder, variablesFile)); err != nil {
			return err
		}
	}
	if err := numpy.ToNpyFile(scores, filepath.Join(folder, name+".npy")); err != nil {
		return err
	}
	fmt.Fprintln(out, "ready", version())
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var what string
		var steps int
		if _, err := fmt.Sscan(lines.Text(), &what, &steps); err != nil {
			return fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		spent, err := o.turn(what, steps)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, spent.seconds, spent.peak)
	}
	return lines.Err()
}
