package bench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
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
	"ebsscgo/internal/device"
)

// This program's names, with fast operations and without.
const (
	fastProgram  = "ebssc"
	plainProgram = "ebssc-plain"
)

// own is this program. It trains with Adam, as its peers do.
type own struct {
	c       testCase
	backend compute.Backend
	store   *model.Store
	forward *model.Exec
	trainer *train.Trainer
}

// newOwn builds this program for a case, with fast operations or plain ones.
func newOwn(backend compute.Backend, c testCase, plain bool) (*own, error) {
	o := &own{c: c, backend: backend, store: model.NewStore()}
	o.store.SetParams(c.Settings.With(experiments.Settings{ebssc.ParamPlainOps: plain}))
	o.store.SetParam(model.ParamInitialSeed, int64(1))
	if err := o.store.SetRNGStateFromSeed(1); err != nil {
		return nil, err
	}
	graph := func(scope *model.Scope, images *Node) *Node { return c.Network.Forward(scope, images).Scores }
	o.trainer = train.NewTrainer(backend, o.store, graph, loss.SparseCategoricalCrossEntropyLogits, optimizer.Adam().Done(), nil, nil)
	var err error
	o.forward, err = model.NewExec(backend, o.store, graph)
	return o, err
}

// scores computes the batch's class scores [N, Y], without dropout.
func (o *own) scores() (*tensors.Tensor, error) {
	scores, err := o.forward.Call1(o.c.images)
	if err != nil {
		return nil, fmt.Errorf("computing class scores: %w", err)
	}
	return scores, nil
}

// infer takes one step of inference, which ends when the scores have reached the host.
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

// train takes one training step, which ends when the loss has reached the host.
func (o *own) train() error {
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
		return fmt.Errorf("the loss is %f", value)
	}
	for _, metric := range metrics {
		if err := metric.FinalizeAll(); err != nil {
			return err
		}
	}
	return nil
}

func (o *own) close() {
	o.forward.Finalize()
	o.trainer.ResetComputationGraphs()
	o.store.Finalize()
}

// Serve makes this process one of the measured programs, with fast operations or plain ones, for the case in folder. Like the
// others it speaks the protocol of peers/peer.py until its input ends. It writes the initial variables, unless they are in the folder.
func Serve(backend compute.Backend, folder string, plain bool, in io.Reader, out io.Writer) (err error) {
	c, err := readCase(folder)
	if err != nil {
		return err
	}
	// Graph building panics; here is the one place where that becomes an error.
	panicked := exceptions.TryCatch[error](func() { err = serve(backend, c, folder, plain, in, out) })
	return errors.Join(panicked, err)
}

// exists says whether there is a file of that name.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
	name := fastProgram
	if plain {
		name = plainProgram
	}
	// The first program writes the variables with which the others start.
	if variables := filepath.Join(folder, variablesFile); !exists(variables) {
		if err := numpy.ToNpzFile(c.Network.Variables(o.store), variables); err != nil {
			return err
		}
	}
	if err := numpy.ToNpyFile(scores, filepath.Join(folder, name+".npy")); err != nil {
		return err
	}
	fmt.Fprintln(out, "ready", "gomlx", strings.TrimPrefix(device.GoMLXVersion(), "v"))
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var what string
		var steps int
		if _, err := fmt.Sscan(lines.Text(), &what, &steps); err != nil {
			return fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		step, known := map[string]func() error{training: o.train, inference: o.infer}[what]
		if !known {
			return fmt.Errorf("%q is neither %s nor %s", what, training, inference)
		}
		began := time.Now()
		for range steps {
			if err := step(); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, time.Since(began).Seconds()/float64(steps))
	}
	return lines.Err()
}
