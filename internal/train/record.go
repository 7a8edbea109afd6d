package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"ebsscgo/experiments"
)

// CurveFile is the learning curve in a run's folder.
const CurveFile = "curve.csv"

// Other files of a run's folder.
const (
	resultFile       = "result.json"
	lockFile         = "lock"
	checkpointFolder = "checkpoint"
)

// Result is what a finished run measured, with the run's description.
type Result struct {
	Run experiments.Run
	// ID of the run.
	ID string
	// Parameters of the network, offsets included.
	Parameters int
	// TrainErr and TestErr in percent, without augmentation and dropout, after the last epoch.
	TrainErr, TestErr float64
	// TrainObjective and TestObjective are Eq. (train_obj2): mean log-losses in nats, likewise, and the penalty of the variables.
	TrainObjective, TestObjective float64
	// Predictions of the test images' classes, in order, a digit each, and their Labels likewise.
	Predictions, Labels string
	// Seconds of the epochs and of the evaluation at the end; what came after the last checkpoint of a run that was killed does
	// not count.
	Seconds float64
	// Commit of the program that finished the run.
	Commit string
	// Finished is when, and Asked when it was last asked for: what was asked for last is what a report shows.
	Finished, Asked time.Time
}

// Epoch is a line of a run's learning curve.
type Epoch struct {
	// Epoch counts from 1.
	Epoch int
	// Step is the number of training steps so far.
	Step int
	// BatchLoss in nats and BatchErr in percent, averaged over the epoch's batches while they were trained on: with
	// augmentation and dropout.
	BatchLoss, BatchErr float64
	// Seconds that the epoch took.
	Seconds float64
	// Measured says that the rest was measured after the epoch, without augmentation and dropout: the objective in nats and
	// the error in percent on the first training images, and the error in percent on the test images.
	Measured                     bool
	Objective, TrainErr, TestErr float64
}

// Load returns the result recorded in a run's folder; ok is false where there is none.
func Load(folder string) (result Result, ok bool, err error) {
	text, err := os.ReadFile(filepath.Join(folder, resultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Result{}, false, nil
	}
	if err != nil {
		return Result{}, false, fmt.Errorf("reading a result: %w", err)
	}
	err = json.Unmarshal(text, &result)
	if id := filepath.Base(folder); err == nil && result.ID != id {
		err = fmt.Errorf("it is of run %q", result.ID)
	}
	if err != nil {
		return Result{}, false, fmt.Errorf("%s is not this run's result (%w): remove it and run the experiment again", filepath.Join(folder, resultFile), err)
	}
	return result, true, nil
}

// save records the result: from then on the run is finished.
func (r Result) save(folder string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.ID, err)
	}
	if err := renameio.WriteFile(filepath.Join(folder, resultFile), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("recording %s: %w", r.ID, err)
	}
	return nil
}
