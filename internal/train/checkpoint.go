package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/experiments"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Checkpoints is the folder of checkpoints in a profile's results. Each run under way has one file there, <ID>.ckpt, and the one
// before it.
const Checkpoints = "checkpoints"

// Endings of a run's files in the folder of checkpoints.
const (
	newestSuffix   = ".ckpt"
	previousSuffix = ".previous.ckpt"
	brokenSuffix   = ".broken"
)

// checkpointHead begins a checkpoint. The SHA-256 of what follows the line, an .npz file, ends it.
const checkpointHead = "ebssc checkpoint 2, SHA-256 "

// progressName is the array of a checkpoint that holds the progress, JSON in bytes. The other arrays are the variables.
const progressName = "progress"

// progress is the state of a run beside its variables.
type progress struct {
	// ID of the run.
	ID string `json:"Run"`
	// Curve has the finished epochs.
	Curve []record.Epoch
	// Origin names the programs and computers that trained so far.
	Origin record.Origin
	// epoch that is under way.
	epoch
}

// epoch sums up the epoch under way: its steps so far, their losses and errors, and their seconds.
type epoch struct {
	Steps              int
	Loss, Err, Seconds float64
}

// step is the number of steps taken so far.
func (s *trainingRun) step() int { return len(s.Curve)*s.run.StepsPerEpoch() + s.Steps }

// checkpoint is a file of the run in the folder of checkpoints.
func (s *trainingRun) checkpoint(suffix string) string {
	return filepath.Join(s.runner.Checkpoints, s.ID+suffix)
}

// save writes a checkpoint in one step, after moving the present one aside. A kill in between leaves the previous one. A model with values that are
// not finite is not saved.
func (s *trainingRun) save() error {
	if s.runner.Checkpoints == "" {
		return nil
	}
	variables := map[string]*tensors.Tensor{}
	for v := range s.store.IterVariables() {
		if strings.HasPrefix(v.Path(), model.JoinPath(model.RootScopePath, metric.Scope)) {
			continue // a moving average, which has a new random name in each process
		}
		variables[nameOf(v)] = v.MustValue()
		values, err := tensors.CopyFlatData[float32](v.MustValue()) // which all that is trained has
		if err == nil && slices.ContainsFunc(values, func(value float32) bool { return !finite(float64(value)) }) {
			return s.diverged(nameOf(v) + " is not finite")
		}
	}
	arrays, err := writeArrays(variables, progressName, s.progress)
	if err == nil {
		err = os.Rename(s.checkpoint(newestSuffix), s.checkpoint(previousSuffix))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = safefile.Write(s.checkpoint(newestSuffix), fmt.Appendf(nil, "%s%s\n%s", checkpointHead, checksum(arrays), arrays))
	}
	if err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	return nil
}

// RemoveCheckpoints removes the checkpoints of a recorded run, also those that were set aside: nothing goes on from them. folder is that of
// checkpoints.
func RemoveCheckpoints(folder, id string) (err error) {
	for _, suffix := range []string{newestSuffix, previousSuffix, newestSuffix + brokenSuffix, previousSuffix + brokenSuffix} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, id+suffix)))
	}
	return err
}

// restore makes the model from the newest good checkpoint, or anew. It names each bad checkpoint and sets it aside.
func (s *trainingRun) restore() (err error) {
	for _, suffix := range []string{newestSuffix, previousSuffix} {
		path := s.checkpoint(suffix)
		err := s.load(path)
		var errno syscall.Errno
		switch {
		case s.runner.Checkpoints == "" || errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil:
			s.say("resumed at step %d of %d, from %s", s.step(), s.run.Epochs*s.run.StepsPerEpoch(), filepath.Base(path))
			return nil
		case errors.As(err, &errno): // the checkpoint may well be good
			return fmt.Errorf("reading checkpoint %s: %w", path, err)
		}
		name := filepath.Base(path)
		s.say("checkpoint %s is not good (%s): set aside as %s", name, device.OneLine(err), name+brokenSuffix)
		if err := errors.Join(os.RemoveAll(path+brokenSuffix), os.Rename(path, path+brokenSuffix)); err != nil {
			return fmt.Errorf("setting a checkpoint aside: %w", err)
		}
	}
	s.store, err = shapedStore(s.runner.Backend, s.run)
	return err
}

// load makes the model from a checkpoint, which must have exactly the variables of the run's training.
func (s *trainingRun) load(path string) error {
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return err
	}
	head, arrays, _ := bytes.Cut(file, []byte("\n"))
	if sum, ok := strings.CutPrefix(string(head), checkpointHead); !ok || sum != checksum(arrays) {
		return errors.New("it is damaged, or of another version of this program")
	}
	store, err := shapedStore(s.runner.Backend, s.run)
	if err != nil {
		return err
	}
	want := map[string]shapes.Shape{}
	for v := range store.IterVariables() {
		want[nameOf(v)] = v.Shape()
	}
	variables, text, err := readArrays(arrays, want, progressName)
	if err != nil {
		return err
	}
	var p progress
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	for v := range store.IterVariables() {
		if err := v.SetValue(variables[nameOf(v)]); err != nil {
			return err
		}
	}
	taken, steps := int(optimizer.GetGlobalStep(store)), s.run.StepsPerEpoch()
	switch {
	case p.ID != s.ID:
		return fmt.Errorf("it is of another run, %s", p.ID)
	case p.Steps < 0 || p.Steps > steps || len(p.Curve) > s.run.Epochs || len(p.Curve)*steps+p.Steps != taken:
		return fmt.Errorf("it says %d epochs and %d steps, and its variables have taken %d steps", len(p.Curve), p.Steps, taken)
	}
	p.Origin = p.Origin.Then(s.Origin)
	s.store, s.progress = store, p
	return nil
}

// shapedStore returns the model of a run before training, with variables that have shapes and no values yet: those that a training step asks for. It
// compiles nothing.
func shapedStore(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store := newStore(run)
	if err := seedEpoch(store, run, 0); err != nil {
		return nil, err
	}
	optimizer.GetGlobalStepVar(store)
	store.Scope(train.TrainerAbsoluteScope).VariableWithValue(train.TrainLastStepVarName, int64(0)).SetTrainable(false)
	g := NewGraph(backend, "the shapes of variables")
	defer g.Finalize()
	model.SetStore(g, store)
	store.SetTraining(g, true)
	n := run.Network
	return store, exceptions.TryCatch[error](func() {
		images := Parameter(g, "images", shapes.Make(dtypes.Float32, run.Hyper.Batch, n.Height, n.Width, n.Channels))
		newOptimizer(run, backend).UpdateGraph(store.RootScope(), g, ReduceAllSum(trainingGraph(run)(store.RootScope(), images)))
	})
}

// InitialNetwork returns the model of a run before training.
func InitialNetwork(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store, err := shapedStore(backend, run)
	if err != nil {
		return nil, err
	}
	return store, store.InitializeVariables(backend, nil)
}
