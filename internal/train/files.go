package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/float16"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"
	half "github.com/x448/float16"

	"ebsscgo/experiments"
	"ebsscgo/internal/device"
	"ebsscgo/internal/record"
	"ebsscgo/internal/safefile"
)

// Checkpoints is the folder of checkpoints in a profile's results. Each run under way has one file
// there, <ID>.ckpt, and the one before it.
const Checkpoints = "checkpoints"

// Endings of a run's files in the folder of checkpoints.
const (
	newestSuffix   = ".ckpt"
	previousSuffix = ".previous.ckpt"
	brokenSuffix   = ".broken"
)

// checkpointHead begins the first line of a checkpoint, which ends with the SHA-256 of the .npz
// file that follows.
const checkpointHead = "ebssc checkpoint 2, SHA-256 "

// progressName is the array of a checkpoint that holds the progress, JSON in bytes. The other
// arrays are the variables.
const progressName = "progress"

// checkpoint returns the path of the run's file with that ending.
func (s *trainingRun) checkpoint(suffix string) string {
	return filepath.Join(s.runner.Checkpoints, s.ID+suffix)
}

// save writes a checkpoint in one step, after moving the present one aside. A kill in between
// leaves the previous one. A model with values that are not finite is not saved.
func (s *trainingRun) save() error {
	s.Seconds = time.Since(s.began).Seconds()
	variables := map[string]*tensors.Tensor{}
	for v := range s.store.IterVariables() {
		if isMetric(v) {
			continue
		}
		variables[nameOf(v)] = v.MustValue()
		if !allFinite(v.MustValue()) {
			return s.diverged(nameOf(v) + " is not finite")
		}
	}
	arrays, err := writeArrays(variables, progressName, s.progress)
	if err == nil {
		err = os.Rename(s.checkpoint(newestSuffix), s.checkpoint(previousSuffix))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		file := fmt.Appendf(nil, "%s%s\n%s", checkpointHead, safefile.Sum(arrays), arrays)
		err = safefile.Write(s.checkpoint(newestSuffix), file)
	}
	if err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	return nil
}

// isMetric reports whether a variable is a moving average of GoMLX's, which has a new random name
// in each process.
func isMetric(v *model.Variable) bool {
	return strings.HasPrefix(v.Path(), model.JoinPath(model.RootScopePath, metric.Scope))
}

// RemoveCheckpoints removes the checkpoints of a recorded run from their folder, also those that
// were set aside: nothing goes on from them.
func RemoveCheckpoints(folder, id string) (err error) {
	for _, suffix := range []string{newestSuffix, previousSuffix} {
		file := filepath.Join(folder, id+suffix)
		err = errors.Join(err, os.RemoveAll(file), os.RemoveAll(file+brokenSuffix))
	}
	return err
}

// restore makes the model from the newest good checkpoint, or anew. It names each bad checkpoint
// and sets it aside.
func (s *trainingRun) restore() (err error) {
	for _, suffix := range []string{newestSuffix, previousSuffix} {
		path := s.checkpoint(suffix)
		err := s.load(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil:
			s.say("resumed at step %d of %d, from %s", s.taken(), s.run.Steps(), filepath.Base(path))
			return nil
		case errors.As(err, new(syscall.Errno)): // the checkpoint may well be good
			return fmt.Errorf("reading checkpoint %s: %w", path, err)
		}
		name := filepath.Base(path)
		s.say("checkpoint %s is not good (%s): set aside as %s", name, device.OneLine(err),
			name+brokenSuffix)
		err = os.RemoveAll(path + brokenSuffix)
		if err == nil {
			err = os.Rename(path, path+brokenSuffix)
		}
		if err != nil {
			return fmt.Errorf("setting a checkpoint aside: %w", err)
		}
	}
	s.store, err = shapedStore(s.runner.Backend, s.run)
	return err
}

// load makes the model from a checkpoint, which must have exactly the variables of the run's
// training.
func (s *trainingRun) load(path string) error {
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return err
	}
	head, arrays, _ := bytes.Cut(file, []byte("\n"))
	if sum, ok := strings.CutPrefix(string(head), checkpointHead); !ok || sum != safefile.Sum(arrays) {
		return errors.New("it is damaged, or of another version of this program")
	}
	store, err := shapedStore(s.runner.Backend, s.run)
	if err != nil {
		return err
	}
	text, err := readArrays(arrays, store, progressName)
	if err != nil {
		return err
	}
	var p progress
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	taken, steps := int(optimizer.GetGlobalStep(store)), s.run.StepsPerEpoch()
	switch {
	case p.ID != s.ID:
		return fmt.Errorf("it is of another run, %s", p.ID)
	case p.Steps < 0 || p.Steps > steps || len(p.Curve) > s.run.Epochs ||
		len(p.Curve)*steps+p.Steps != taken:
		return fmt.Errorf("it says %d epochs and %d steps, and its variables have taken %d steps",
			len(p.Curve), p.Steps, taken)
	}
	p.Origin = p.Origin.ResumedOn(s.Origin)
	s.store, s.progress = store, p
	return nil
}

// shapedStore returns the model of a run before training, with all variables that a checkpoint has:
// the network's with their initial values, the optimizer's with shapes alone, and the
// counts of steps, which GoMLX would make in its loop. It builds a training step, and compiles
// nothing.
func shapedStore(backend compute.Backend, run experiments.Run) (*model.Store, error) {
	store := newStore(run)
	if err := seedEpoch(store, run, 0); err != nil {
		return nil, err
	}
	optimizer.GetGlobalStepVar(store)
	counts := store.Scope(train.TrainerAbsoluteScope)
	counts.VariableWithValue(train.TrainLastStepVarName, int64(0)).SetTrainable(false)
	g := NewGraph(backend, "the shapes of variables")
	defer g.Finalize()
	model.SetStore(g, store)
	store.SetTraining(g, true)
	n, scope := run.Network, store.RootScope()
	batch := shapes.Make(dtypes.Float32, run.Hyper.Batch, n.Height, n.Width, n.Channels)
	return store, exceptions.TryCatch[error](func() {
		scores := trainingGraph(run)(scope, Parameter(g, "images", batch))
		newOptimizer(run, backend).UpdateGraph(scope, g, ReduceAllSum(scores))
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

// runName is the array of a network's file, see [record.NetworkFile], that holds the run's
// description.
const runName = "run"

// maxNetworkSize is the size in bytes of the largest file that is taken for a network or a
// checkpoint: Adam's, with two moments beside each of ebssc.MaxParameters, is smaller.
const maxNetworkSize = 1 << 30

// EncodeNetwork returns the file of the trained network in a store, and its checksums. The same
// network always gives the same bytes.
func EncodeNetwork(
	run experiments.Run, store *model.Store,
) (file []byte, sums record.NetworkSums, err error) {
	if file, err = writeArrays(run.Network.Variables(store), runName, run); err != nil {
		return nil, sums, err
	}
	half, err := EncodeHalf(run, store)
	return file, record.NetworkSums{SHA256: safefile.Sum(file), HalfSHA256: safefile.Sum(half)}, err
}

// EncodeHalf returns the same file with the values in half precision.
func EncodeHalf(run experiments.Run, store *model.Store) ([]byte, error) {
	variables := run.Network.Variables(store)
	for name, value := range variables {
		variables[name] = converted(value, halved)
	}
	return writeArrays(variables, runName, run)
}

// halved rounds a number to the nearest one in half precision. (GoMLX's conversion makes 0 of
// numbers below 6.1e-5.)
func halved(x float32) float16.Float16 { return float16.Float16(half.Fromfloat32(x)) }

// converted returns a tensor with each value converted.
func converted[From, To dtypes.Supported](
	value *tensors.Tensor, convert func(From) To,
) *tensors.Tensor {
	var flat []To
	for _, x := range tensors.MustCopyFlatData[From](value) {
		flat = append(flat, convert(x))
	}
	return tensors.FromFlatDataAndDimensions(flat, value.Shape().Dimensions...)
}

// LoadNetwork returns a store with the variables of a recorded run's trained network, from its file
// in a folder of results. The file must have one of the record's checksums, and exactly the
// variables of the run's network.
func LoadNetwork(r record.Record, folder string) (*model.Store, error) {
	path := record.NetworkFile(folder, r.ID)
	store, err := loadNetwork(r, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the trained network of %s is not here (%s): to train it "+
			"again: %s --results FOLDER, a new one", r.ID, path, r.Command)
	case errors.As(err, new(syscall.Errno)): // the network may well be good
		return nil, fmt.Errorf("reading network %s: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("network %s is not good (%w): remove it and the record, and run "+
			"the experiment again", path, err)
	}
	return store, nil
}

// loadNetwork is LoadNetwork without words for users around its errors.
func loadNetwork(r record.Record, path string) (*model.Store, error) {
	file, err := safefile.Read(path, maxNetworkSize)
	if err != nil {
		return nil, err
	}
	dtype := dtypes.Float32
	switch safefile.Sum(file) {
	case r.Network.SHA256:
	case r.Network.HalfSHA256:
		dtype = dtypes.Float16
	default:
		return nil, errors.New("its SHA-256 is not the one in its record")
	}
	all, err := r.Run.Network.Shapes()
	if err != nil {
		return nil, err
	}
	store := newStore(r.Run)
	for name, dimensions := range all {
		store.VariableWithShape(name, shapes.Make(dtype, dimensions...), nil)
	}
	if _, err := readArrays(file, store, runName); err != nil || dtype == dtypes.Float32 {
		return store, err
	}
	for v := range store.IterVariables() {
		if err := v.SetValue(converted(v.MustValue(), float16.Float16.Float32)); err != nil {
			return nil, err
		}
	}
	return store, nil
}
