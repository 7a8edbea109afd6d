package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
	"github.com/gomlx/gomlx/ml/train/metric"
	"github.com/gomlx/gomlx/ml/train/optimizer"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/experiments"
	"ebsscgo/internal/device"
)

// seal is what a checkpoint says of itself. It is one of its variables, JSON in bytes, so it is written in the same step as
// the others.
type seal struct {
	// Format is checkpointFormat when it was written.
	Format int
	// Run is the run's ID, and with it all that decides its result.
	Run string
	// progress of the epoch that was not finished.
	progress
	// Sum is the checksum of the above and of all other variables.
	Sum uint32
}

// progress is what an epoch has come to: its steps so far, the sums of their losses and errors, and the seconds they took.
type progress struct {
	Steps              int
	Loss, Err, Seconds float64
}

// checkpointFormat is raised when a checkpoint says something that this program would not understand.
const checkpointFormat = 1

// sealPath is the seal's path among the variables.
const sealPath = model.RootScopePath + "#seal"

// checksum of a seal and of variables by path.
func (s seal) checksum(variables map[string]*tensors.Tensor) (uint32, error) {
	s.Sum = 0
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if err := json.NewEncoder(hash).Encode(s); err != nil {
		return 0, err
	}
	for _, path := range slices.Sorted(maps.Keys(variables)) {
		shape := variables[path].Shape()
		fmt.Fprintln(hash, path, shape.DType, shape.Dimensions)
		if err := variables[path].ConstBytes(func(values []byte) { hash.Write(values) }); err != nil {
			return 0, err
		}
	}
	return hash.Sum32(), nil
}

// save writes a checkpoint of the model and of the epoch's progress. A model that is not finite is not saved.
func (s *session) save() error {
	variables := loaded(s.handler) // what was read and not yet asked for is saved again, too
	for v := range s.store.IterVariables() {
		if strings.HasPrefix(v.Path(), model.JoinPath(model.RootScopePath, metric.Scope)) {
			// Moving averages of the display have a new random name in each process.
			s.handler.ExcludeVarsFromSaving(v)
			continue
		}
		variables[v.Path()] = v.MustValue()
	}
	delete(variables, sealPath)
	if path := notFinite(variables); path != "" {
		return s.diverged(strings.TrimPrefix(path, model.RootScopePath)+" is not finite", int(optimizer.GetGlobalStep(s.store)))
	}
	sealed := seal{Format: checkpointFormat, Run: s.id, progress: s.progress}
	var err error
	if sealed.Sum, err = sealed.checksum(variables); err != nil {
		return fmt.Errorf("sealing a checkpoint: %w", err)
	}
	text, err := json.Marshal(sealed)
	if err != nil {
		return fmt.Errorf("sealing a checkpoint: %w", err)
	}
	if err := s.store.GetVariable(sealPath).SetValue(tensors.FromValue(text)); err != nil {
		return fmt.Errorf("sealing a checkpoint: %w", err)
	}
	if err := s.handler.Save(); err != nil {
		return fmt.Errorf("saving a checkpoint: %w", err)
	}
	size := len(text)
	for _, value := range variables {
		size += int(value.Shape().ByteSize())
	}
	return secure(s.handler.Dir(), int64(size))
}

// secure makes sure that the newest checkpoint is on the disk, and of this size: GoMLX passes over variables that cannot be
// written.
func secure(folder string, size int64) error {
	name, err := newest(folder)
	if err != nil {
		return err
	}
	for _, suffix := range checkpointSuffixes {
		path := filepath.Join(folder, name+suffix)
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("saving a checkpoint: %w", err)
		}
		defer file.Close()
		if err := file.Sync(); err != nil {
			return fmt.Errorf("saving a checkpoint: %w", err)
		}
		info, err := file.Stat()
		if err != nil {
			return fmt.Errorf("saving a checkpoint: %w", err)
		}
		if suffix == checkpoint.BinDataSuffix && info.Size() != size {
			return fmt.Errorf("%s has %d bytes in place of %d: see whether the disk is full, and run the same command again",
				path, info.Size(), size)
		}
	}
	return nil
}

// checkpointSuffixes are those of a checkpoint's two files.
var checkpointSuffixes = []string{checkpoint.JsonNameSuffix, checkpoint.BinDataSuffix}

// newest is the name, without suffix, of the newest checkpoint in a folder, whole or not; "" if there is none.
func newest(folder string) (name string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("listing checkpoints: %w", err)
	}
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		if strings.HasPrefix(entry.Name(), "checkpoint-") && slices.Contains(checkpointSuffixes, suffix) {
			name = max(name, strings.TrimSuffix(entry.Name(), suffix))
		}
	}
	return name, nil
}

// attach makes a run's model whose variables are those of the newest checkpoint in a folder, if there is one. The handler
// hands out each when it is first asked for.
func attach(run experiments.Run, folder string) (store *model.Store, handler *checkpoint.Handler, err error) {
	store = newStore(run)
	// GoMLX panics on some files that are not a checkpoint.
	panicked := exceptions.TryCatch[error](func() {
		// The run's description decides the hyperparameters, not the checkpoint.
		handler, err = checkpoint.Build(store).Dir(folder).Keep(2).ExcludeAllParams().WithCompression(checkpoint.BinUncompressed).Done()
	})
	return store, handler, errors.Join(panicked, err)
}

// open attaches to the checkpoint of a name, the newest in the folder, if it is whole and of this run, and returns the seal;
// one written before there were seals has an empty one.
func open(run experiments.Run, folder, name string) (store *model.Store, handler *checkpoint.Handler, sealed seal, err error) {
	for _, suffix := range checkpointSuffixes {
		switch _, err := os.Stat(filepath.Join(folder, name+suffix)); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, seal{}, fmt.Errorf("it has no %s file", suffix)
		case err != nil:
			return nil, nil, seal{}, err
		}
	}
	if store, handler, err = attach(run, folder); err != nil {
		return nil, nil, seal{}, err
	}
	if sealed, err = checked(run, loaded(handler)); err != nil {
		return nil, nil, seal{}, err
	}
	return store, handler, sealed, handler.DeleteVariable(store, sealPath)
}

// loaded are the variables that a handler has read and not yet handed out, by path.
func loaded(handler *checkpoint.Handler) map[string]*tensors.Tensor {
	variables := map[string]*tensors.Tensor{}
	for key, value := range handler.LoadedVariables() {
		variables[strings.TrimPrefix(key, "var:")] = value
	}
	return variables
}

// checked says what is wrong with the variables of a run's checkpoint, its seal among them.
func checked(run experiments.Run, variables map[string]*tensors.Tensor) (sealed seal, err error) {
	if text, ok := variables[sealPath]; ok {
		delete(variables, sealPath)
		if sealed, err = opened(run, text, variables); err != nil {
			return seal{}, err
		}
	}
	scratch := model.NewStore()
	for path, value := range variables {
		if _, err := scratch.CreateVariable(path, value); err != nil {
			return seal{}, err
		}
	}
	count, err := run.Network.Count()
	if err != nil {
		return seal{}, err
	}
	parameters := 0
	for _, value := range run.Network.Variables(scratch) {
		parameters += value.Size()
	}
	if parameters != count.Total() {
		return seal{}, fmt.Errorf("it is of another network: %d parameters, not %d", parameters, count.Total())
	}
	if path := notFinite(variables); path != "" {
		return seal{}, fmt.Errorf("%s is not finite", path)
	}
	steps, step := run.StepsPerEpoch(), int(optimizer.GetGlobalStep(scratch))
	if step < 1 || step > run.Epochs*steps || sealed.Steps < 0 || sealed.Steps > steps || (step-sealed.Steps)%steps != 0 {
		return seal{}, fmt.Errorf("it is of step %d, %d of them in the last epoch: the run has %d epochs of %d steps",
			step, sealed.Steps, run.Epochs, steps)
	}
	return sealed, nil
}

// opened reads a seal and compares it with the run and with all other variables.
func opened(run experiments.Run, text *tensors.Tensor, variables map[string]*tensors.Tensor) (sealed seal, err error) {
	content, err := tensors.CopyFlatData[uint8](text)
	if err != nil {
		return seal{}, fmt.Errorf("its seal cannot be read: %w", err)
	}
	if err := json.Unmarshal(content, &sealed); err != nil {
		return seal{}, fmt.Errorf("its seal cannot be read: %w", err)
	}
	if sealed.Format > checkpointFormat {
		return seal{}, fmt.Errorf("a newer version of this program wrote it, in format %d", sealed.Format)
	}
	id, err := run.ID()
	if err != nil {
		return seal{}, err
	}
	if sealed.Run != id {
		return seal{}, fmt.Errorf("it is of another run, %s", sealed.Run)
	}
	sum, err := sealed.checksum(variables)
	if err != nil {
		return seal{}, fmt.Errorf("summing up its variables: %w", err)
	}
	if sum != sealed.Sum {
		return seal{}, errors.New("its checksum is wrong")
	}
	return sealed, nil
}

// notFinite is the path of a variable with a value that is NaN or infinite; "" if there is none.
func notFinite(variables map[string]*tensors.Tensor) string {
	for _, path := range slices.Sorted(maps.Keys(variables)) {
		bad := false
		variables[path].MustConstFlatData(func(flat any) {
			values, _ := flat.([]float32) // all that is trained
			bad = slices.ContainsFunc(values, func(value float32) bool {
				return math.IsNaN(float64(value)) || math.IsInf(float64(value), 0)
			})
		})
		if bad {
			return path
		}
	}
	return ""
}

// restore makes the model, with room for a seal: it stands before all that is large, so a checkpoint without it is not one
// whose end is missing.
func (s *session) restore() error {
	if err := s.find(); err != nil {
		return err
	}
	place, err := s.store.CreateVariable(sealPath, tensors.FromValue([]byte("{}")))
	if err != nil {
		return fmt.Errorf("sealing checkpoints: %w", err)
	}
	place.SetTrainable(false)
	return nil
}

// find makes the model from the newest good checkpoint, or anew. It names each bad one and sets it aside.
func (s *session) find() error {
	folder := filepath.Join(s.folder, checkpointFolder)
	var bad bool
	for {
		name, err := newest(folder)
		if err != nil {
			return err
		}
		if name == "" {
			return s.begin(folder, bad)
		}
		var sealed seal
		if s.store, s.handler, sealed, err = open(s.run, folder, name); err == nil {
			if bad {
				fmt.Fprintf(s.lab.Log, "%s: going on from checkpoint %s\n", s.id, name)
			}
			return s.resume(sealed)
		}
		var errno syscall.Errno
		if errors.As(err, &errno) { // it may well be good
			return fmt.Errorf("reading checkpoint %s: %w", filepath.Join(folder, name), err)
		}
		if err := setAside(folder, name); err != nil {
			return err
		}
		bad = true
		fmt.Fprintf(s.lab.Log, "%s: checkpoint %s is not good (%s): set aside as %s\n", s.id, name, device.OneLine(err), name+".*"+brokenSuffix)
	}
}

// begin makes a new model, and says so where a run was under way.
func (s *session) begin(folder string, bad bool) (err error) {
	_, err = os.Stat(filepath.Join(s.folder, CurveFile))
	if underWay := err == nil; bad || underWay {
		fmt.Fprintf(s.lab.Log, "%s: there is no good checkpoint: training from the start\n", s.id)
	}
	if s.store, s.handler, err = attach(s.run, folder); err != nil {
		return fmt.Errorf("a folder for checkpoints: %w", err)
	}
	return s.store.SetRNGStateFromSeed(int64(s.run.Seed))
}

// resume takes up the epoch's progress and the learning curve, which is cut to the checkpoint.
func (s *session) resume(sealed seal) error {
	// GoMLX takes what it loads for trainable, and Adam would round the generator's state to float32.
	s.store.GetVariable(model.RNGStateVariableName).SetTrainable(false)
	s.progress = sealed.progress
	path := filepath.Join(s.folder, CurveFile)
	curve, err := ReadCurve(path)
	if err != nil {
		return fmt.Errorf("%w, or remove %s to train the run from the start", err, s.folder)
	}
	steps := s.run.StepsPerEpoch()
	done := (int(optimizer.GetGlobalStep(s.store)) - s.Steps) / steps
	for i := range done {
		if i >= len(curve) || curve[i].Epoch != i+1 || curve[i].Step != (i+1)*steps {
			return fmt.Errorf("%s does not have the %d epochs that the checkpoint has: put back one that has, or remove %s to train the run from the start",
				path, done, s.folder)
		}
	}
	s.curve = curve[:done]
	return nil
}

// brokenSuffix is that of checkpoints that were set aside.
const brokenSuffix = ".broken"

// setAside renames a checkpoint's files so that it is not found again.
func setAside(folder, name string) error {
	for _, suffix := range checkpointSuffixes {
		path := filepath.Join(folder, name+suffix)
		if err := os.Rename(path, path+brokenSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("setting a checkpoint aside: %w", err)
		}
	}
	return nil
}
