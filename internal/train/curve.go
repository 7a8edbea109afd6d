package train

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/google/renameio/v2"
)

// curveHeader names the columns; the last three are empty where nothing was measured after the epoch.
var curveHeader = []string{"epoch", "step", "batch_loss", "batch_err", "seconds", "train_objective", "train_err", "test_err"}

// ReadCurve reads a learning curve, CurveFile in a run's folder; a file that is not there is an empty curve: that of a run
// which has not finished an epoch.
func ReadCurve(path string) ([]Epoch, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a learning curve: %w", err)
	}
	return parseCurve(path, text)
}

func parseCurve(path string, text []byte) ([]Epoch, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = len(curveHeader)
	records, err := reader.ReadAll()
	if err != nil {
		return nil, damaged(path, err)
	}
	if len(records) == 0 || !bytes.HasSuffix(text, []byte("\n")) {
		return nil, damaged(path, errors.New("it is truncated"))
	}
	var curve []Epoch
	for _, record := range records[1:] {
		measured := record[5] != ""
		if !measured {
			record = record[:5]
		}
		var numbers [8]float64
		for i, field := range record {
			if numbers[i], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, damaged(path, err)
			}
		}
		curve = append(curve, Epoch{int(numbers[0]), int(numbers[1]), numbers[2], numbers[3], numbers[4],
			measured, numbers[5], numbers[6], numbers[7]})
	}
	return curve, nil
}

// damaged is the error of a file that is no learning curve. It cannot be made again without training.
func damaged(path string, why error) error {
	return fmt.Errorf("%s is not a learning curve (%w): put back one that is", path, why)
}

// saveCurve writes the learning curve so far.
func saveCurve(folder string, curve []Epoch) error {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	records := [][]string{curveHeader}
	for _, e := range curve {
		record := []string{strconv.Itoa(e.Epoch), strconv.Itoa(e.Step),
			decimals(e.BatchLoss, 5), decimals(e.BatchErr, 3), decimals(e.Seconds, 2), "", "", ""}
		if e.Measured {
			copy(record[5:], []string{decimals(e.Objective, 5), decimals(e.TrainErr, 3), decimals(e.TestErr, 3)})
		}
		records = append(records, record)
	}
	if err := writer.WriteAll(records); err != nil {
		return fmt.Errorf("writing a learning curve: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(folder, CurveFile), text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing a learning curve: %w", err)
	}
	return nil
}

// decimals prints a number with that many decimals.
func decimals(value float64, count int) string { return strconv.FormatFloat(value, 'f', count, 64) }
