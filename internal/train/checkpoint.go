package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"

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
	// Run is the run's ID.
	Run string
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

// checkpoint is a file of the run in the folder of checkpoints.
func (s *trainingRun) checkpoint(suffix string) string {
	return filepath.Join(s.runner.Checkpoints, s.id+suffix)
}

// save writes a checkpoint, and keeps the one before it. A model with values that are not finite is not saved.
func (s *trainingRun) save() error {
	if s.runner.Checkpoints == "" {
		return nil
	}
	variables := map[string]*tensors.Tensor{}
	maps.Copy(variables, s.pending) // no graph has asked for these yet
	for v := range s.store.IterVariables() {
		// Moving averages of the progress bar have a new random name in each process.
		if !strings.HasPrefix(v.Path(), model.JoinPath(model.RootScopePath, metric.Scope)) {
			variables[nameOf(v.Path())] = v.MustValue()
		}
	}
	if name := notFinite(variables); name != "" {
		return s.diverged(name+" is not finite", int(optimizer.GetGlobalStep(s.store)))
	}
	if err := s.write(variables); err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	return nil
}

// write writes a checkpoint with variables in one step, after moving the present one aside. A kill in between leaves the previous one.
func (s *trainingRun) write(variables map[string]*tensors.Tensor) error {
	arrays, err := writeArrays(variables, progressName, progress{Run: s.id, Curve: s.curve, Origin: s.origin, epoch: s.underWay})
	if err != nil {
		return err
	}
	pending, err := safefile.Create(s.checkpoint(newestSuffix))
	if err != nil {
		return err
	}
	defer pending.Cleanup()
	if _, err := fmt.Fprintf(pending, "%s%s\n%s", checkpointHead, checksum(arrays), arrays); err != nil {
		return err
	}
	if err := os.Rename(s.checkpoint(newestSuffix), s.checkpoint(previousSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return pending.CloseAtomicallyReplace()
}

// readCheckpoint reads and verifies a checkpoint of a run.
func readCheckpoint(id, path string) (variables map[string]*tensors.Tensor, p progress, err error) {
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return nil, p, err
	}
	head, arrays, _ := bytes.Cut(file, []byte("\n"))
	if sum, ok := strings.CutPrefix(string(head), checkpointHead); !ok || sum != checksum(arrays) {
		return nil, p, errors.New("it is damaged, or of another version of this program")
	}
	variables, text, err := readArrays(arrays, progressName)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && p.Run != id {
		err = fmt.Errorf("it is of another run, %s", p.Run)
	}
	return variables, p, err
}

// notFinite names a variable with a value that is NaN or infinite; "" if there is none.
func notFinite(variables map[string]*tensors.Tensor) string {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if variables[name].DType() != dtypes.Float32 { // which all that is trained has
			continue
		}
		values := tensors.MustCopyFlatData[float32](variables[name])
		if slices.ContainsFunc(values, func(value float32) bool { return !finite(float64(value)) }) {
			return name
		}
	}
	return ""
}

// RemoveCheckpoints removes the checkpoints of a recorded run: nothing goes on from them. folder is that of checkpoints.
func RemoveCheckpoints(folder, id string) error {
	path := filepath.Join(folder, id)
	return errors.Join(os.RemoveAll(path+newestSuffix), os.RemoveAll(path+previousSuffix))
}

// loader hands a checkpoint's variables to a model's store, each when a graph first asks for it.
type loader map[string]*tensors.Tensor

// LoadVariable hands out a variable, once.
func (l loader) LoadVariable(_ *model.Store, path string) (value *tensors.Tensor, found bool) {
	value, found = l[nameOf(path)]
	delete(l, nameOf(path))
	return value, found
}

// DeleteVariable forgets a variable.
func (l loader) DeleteVariable(_ *model.Store, path string) error {
	delete(l, nameOf(path))
	return nil
}

// restore makes the model from the newest good checkpoint, or anew. It names each bad checkpoint and sets it aside.
func (s *trainingRun) restore() error {
	for _, suffix := range []string{newestSuffix, previousSuffix} {
		path := s.checkpoint(suffix)
		variables, p, err := readCheckpoint(s.id, path)
		var errno syscall.Errno
		switch {
		case s.runner.Checkpoints == "" || errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil:
			s.store, s.pending = newStore(s.run), variables
			s.store.SetLoader(s.pending)
			// GoMLX takes what it loads for trainable, and Adam would round the generators' states to float32.
			for _, state := range []string{augmentationState, model.JoinPath(model.RootScopePath, model.RNGStateVariableName)} {
				s.store.GetVariable(state).SetTrainable(false)
			}
			s.curve, s.underWay, s.origin = p.Curve, p.epoch, p.Origin.Then(s.origin)
			s.say("resumed at step %d of %d, from %s", len(p.Curve)*s.run.StepsPerEpoch()+p.Steps, s.steps(), filepath.Base(path))
			return nil
		case errors.As(err, &errno): // the checkpoint may well be good
			return fmt.Errorf("reading checkpoint %s: %w", path, err)
		}
		name := filepath.Base(path)
		s.say("checkpoint %s is not good (%s): set aside as %s", name, device.OneLine(err), name+brokenSuffix)
		if err := os.Rename(path, path+brokenSuffix); err != nil {
			return fmt.Errorf("setting a checkpoint aside: %w", err)
		}
	}
	s.store = newStore(s.run)
	return s.seedEpoch()
}

// seedEpoch gives the epoch that begins random numbers of its own.
func (s *trainingRun) seedEpoch() error {
	epoch := len(s.curve)
	if err := s.store.SetRNGStateFromSeed(s.run.Stream(experiments.Dropout, epoch)); err != nil {
		return err
	}
	return seedAugmentation(s.store, s.run.Stream(experiments.Augmentation, epoch))
}
