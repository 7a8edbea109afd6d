package train

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/core/tensors/numpy"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
)

// Checkpoints is the folder of checkpoints in a profile's results. Each run under way has one file there, <ID>.npz, and the one
// before it.
const Checkpoints = "checkpoints"

// Endings of a run's files in the folder of checkpoints.
const (
	newestSuffix   = ".npz"
	previousSuffix = ".previous.npz"
	brokenSuffix   = ".broken"
	lockSuffix     = ".lock"
)

// checkpointFormat is raised when checkpoints change so that this program cannot read older ones.
const checkpointFormat = 1

// progressName is the array of a checkpoint that holds the progress, JSON in bytes. The other arrays are the variables.
const progressName = "progress"

// progress is the state of a run beside its variables.
type progress struct {
	// Format is checkpointFormat when the checkpoint was written, and Run the run's ID.
	Format int
	Run    string
	// Variables are the names of all variables in the checkpoint.
	Variables []string
	// Curve has the finished epochs.
	Curve []record.Epoch
	// Origin names the programs and computers that trained so far, and CoreSeconds are their seconds times their cores; empty in checkpoints
	// from before they were kept.
	Origin      record.Origin
	CoreSeconds float64
	// epoch that is under way.
	epoch
}

// epoch sums up the epoch under way: its steps so far, their losses and errors, and their seconds.
type epoch struct {
	Steps              int
	Loss, Err, Seconds float64
}

// save writes a checkpoint, and keeps the one before it. A model with values that are not finite is not saved.
func (s *trainingRun) save() error {
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
	text, err := json.Marshal(progress{Format: checkpointFormat, Run: s.id, Variables: slices.Sorted(maps.Keys(variables)),
		Curve: s.curve, Origin: s.origin, CoreSeconds: s.coreSeconds(s.seconds()), epoch: s.underWay})
	if err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	variables[progressName] = tensors.FromValue(text)
	return replaceCheckpoint(s.checkpoint(newestSuffix), s.checkpoint(previousSuffix), func(w io.Writer) error { return numpy.ToNpzWriter(variables, w) })
}

// nameOf is a variable's name in a checkpoint, from its path.
func nameOf(path string) string { return strings.TrimPrefix(path, model.RootScopePath) }

// replaceCheckpoint writes a file in one step, after moving the present one to `previous`. A kill in between leaves the previous one.
func replaceCheckpoint(path, previous string, write func(io.Writer) error) error {
	pending, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	defer pending.Cleanup()
	if err := write(pending); err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	if err := os.Rename(path, previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keeping a checkpoint: %w", err)
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	return nil
}

// readCheckpoint reads and verifies a checkpoint of a run.
func readCheckpoint(run experiments.Run, path string) (variables map[string]*tensors.Tensor, p progress, err error) {
	if variables, err = readArrays(path); err != nil {
		return nil, p, err
	}
	text, err := takeText(variables, progressName)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return nil, p, fmt.Errorf("its progress cannot be read: %w", err)
	}
	return variables, p, checkProgress(run, variables, p)
}

// readArrays reads the arrays of an .npz file, and verifies the checksum of each.
func readArrays(path string) (map[string]*tensors.Tensor, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := verifyZip(text); err != nil {
		return nil, err
	}
	return numpy.FromNpzReader(bytes.NewReader(text), int64(len(text)))
}

// verifyZip reads all of a zip file, so that the checksum of each array in it is verified.
func verifyZip(text []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		content, err := entry.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
		_, err = io.Copy(io.Discard, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("%s: %w", entry.Name, err)
		}
	}
	return nil
}

// takeText takes a text, stored as bytes, out of arrays.
func takeText(arrays map[string]*tensors.Tensor, name string) ([]byte, error) {
	array, ok := arrays[name]
	if !ok {
		return nil, errors.New("it has none")
	}
	delete(arrays, name)
	return tensors.CopyFlatData[uint8](array)
}

// checkProgress returns an error if a checkpoint is not one of the run.
func checkProgress(run experiments.Run, variables map[string]*tensors.Tensor, p progress) error {
	switch names := slices.Sorted(maps.Keys(variables)); {
	case p.Format > checkpointFormat:
		return fmt.Errorf("a newer version of this program wrote it, in format %d", p.Format)
	case p.Run != run.ID():
		return fmt.Errorf("it is of another run, %s", p.Run)
	case !slices.Equal(names, p.Variables):
		return fmt.Errorf("it has the variables %s, and should have %s", names, p.Variables)
	}
	if err := checkVariables(run, variables); err != nil {
		return err
	}
	steps, step := run.StepsPerEpoch(), 0
	if counter := variables[optimizer.GlobalStepVariableName]; counter != nil {
		step = int(tensors.ToScalar[int64](counter))
	}
	if step < 1 || step > run.Epochs*steps || p.Steps < 0 || p.Steps > steps || step != len(p.Curve)*steps+p.Steps {
		return fmt.Errorf("it is of step %d, after %d epochs and %d steps: the run has %d epochs of %d steps",
			step, len(p.Curve), p.Steps, run.Epochs, steps)
	}
	return nil
}

// checkVariables returns an error if variables are not those of the run's network.
func checkVariables(run experiments.Run, variables map[string]*tensors.Tensor) error {
	if name := notFinite(variables); name != "" {
		return fmt.Errorf("%s is not finite", name)
	}
	scratch := model.NewStore()
	for name, value := range variables {
		if _, err := scratch.CreateVariable(name, value); err != nil {
			return err
		}
	}
	count, err := run.Network.Count()
	if err != nil {
		return err
	}
	parameters := 0
	for _, value := range run.Network.Variables(scratch) {
		parameters += value.Size()
	}
	if parameters != count.Total() {
		return fmt.Errorf("it is of another network: %d parameters, not %d", parameters, count.Total())
	}
	return nil
}

// notFinite names a variable with a value that is NaN or infinite; "" if there is none.
func notFinite(variables map[string]*tensors.Tensor) string {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		bad := false
		variables[name].MustConstFlatData(func(flat any) {
			values, _ := flat.([]float32) // all that is trained
			bad = slices.ContainsFunc(values, func(value float32) bool {
				return math.IsNaN(float64(value)) || math.IsInf(float64(value), 0)
			})
		})
		if bad {
			return name
		}
	}
	return ""
}

// removeCheckpoints removes the checkpoints of a recorded run: nothing goes on from them. The lock's file goes last: who makes another one finds
// the record.
func (s *trainingRun) removeCheckpoints() error {
	for _, suffix := range []string{newestSuffix, previousSuffix, lockSuffix} {
		if err := os.Remove(s.checkpoint(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a checkpoint: %w", err)
		}
	}
	return nil
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
	found := false
	for _, suffix := range []string{newestSuffix, previousSuffix} {
		path := s.checkpoint(suffix)
		variables, p, err := readCheckpoint(s.run, path)
		var errno syscall.Errno
		switch {
		case err == nil:
			s.store, s.pending = newStore(s.run), variables
			s.store.SetLoader(s.pending)
			// GoMLX takes what it loads for trainable, and Adam would round the generator's state to float32.
			s.store.GetVariable(model.RNGStateVariableName).SetTrainable(false)
			s.curve, s.underWay = p.Curve, p.epoch
			if p.Origin != (record.Origin{}) {
				s.origin = p.Origin.Then(s.runner.Origin)
				s.earlier.seconds, s.earlier.coreSeconds = s.seconds(), p.CoreSeconds
			}
			s.say("resumed at step %d of %d, from %s", len(p.Curve)*s.run.StepsPerEpoch()+p.Steps, s.run.Epochs*s.run.StepsPerEpoch(), filepath.Base(path))
			return nil
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.As(err, &errno): // the checkpoint may well be good
			return fmt.Errorf("reading checkpoint %s: %w", path, err)
		}
		found = true
		name := filepath.Base(path)
		s.say("checkpoint %s is not good (%s): set aside as %s", name, device.OneLine(err), name+brokenSuffix)
		if err := os.Rename(path, path+brokenSuffix); err != nil {
			return fmt.Errorf("setting a checkpoint aside: %w", err)
		}
	}
	if found {
		s.say("there is no good checkpoint: training from the start")
	}
	s.store = newStore(s.run)
	return s.store.SetRNGStateFromSeed(int64(s.run.Seed))
}
