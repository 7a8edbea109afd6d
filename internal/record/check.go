package record

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"unicode"
)

// check computes again what can be computed, and names the first field that does not fit. text is that of the record's file.
func (r Record) check(path string, text []byte) error {
	run := r.Run
	if err := r.textError(text); err != nil { // first: errors quote texts
		return refused(path, "text", err)
	}
	if err := run.Validate(); err != nil {
		return refused(path, "Run", err)
	}
	count, err := r.countParameters()
	for _, field := range []struct {
		name string
		err  error
	}{
		{"Format", equal(r.Format, Format)},
		{"ID", errors.Join(equal(r.ID, run.ID()), equal(r.ID+suffix, filepath.Base(path)))},
		{"Overrides", r.Overrides.Validate()},
		{"Parameters", errors.Join(err, equal(r.Parameters, count))},
		{"Labels", classesError(r.Labels, run.TestImages, run.Network.Classes)},
		{"Predictions", classesError(r.Predictions, run.TestImages, run.Network.Classes)},
		{"TestErr", equal(r.TestErr, ErrorRate(r.Predictions, r.Labels))},
		{"TrainErr", within(0, 100, &r.TrainErr)},
		{"TrainLoss", within(0, math.MaxFloat32, &r.TrainLoss)},
		{"TestLoss", within(0, math.MaxFloat32, &r.TestLoss)},
		{"Penalty", within(0, math.MaxFloat32, &r.Penalty)},
		{"Seconds", within(0, 1e9, &r.Seconds)},
		{"Origin", within(1, 1<<20, new(float64(r.Origin.Cores)), new(float64(r.Origin.Devices)))},
		{"Curve", r.curveError()},
		{"Decodings", r.decodingsError()},
		{"Network", errors.Join(shaError(r.Network.SHA256), shaError(r.Network.HalfSHA256))},
	} {
		if field.err != nil {
			return refused(path, field.name, field.err)
		}
	}
	return nil
}

// countParameters counts the network's parameters. It is an error if a variable is larger than any that can be trained.
func (r Record) countParameters() (int, error) {
	all, err := r.Run.Network.Shapes()
	for _, dimensions := range all {
		size := 1.0
		for _, d := range dimensions {
			size *= float64(d)
		}
		err = errors.Join(err, within(1, 1<<28, &size))
	}
	if err != nil {
		return 0, err
	}
	count, err := r.Run.Network.Count()
	return count.Total(), err
}

func (r Record) curveError() error {
	if err := equal(len(r.Curve), r.Run.Epochs); err != nil {
		return fmt.Errorf("its number of epochs: %w", err)
	}
	for i, epoch := range r.Curve {
		if epoch.Epoch != i+1 || epoch.Step != (i+1)*r.Run.StepsPerEpoch() || (epoch.Trace != nil) != r.Run.Traced {
			return fmt.Errorf("epoch %d is not one of the run", i+1)
		}
		err := errors.Join(within(0, math.MaxFloat32, &epoch.BatchLoss), within(0, 100, &epoch.BatchErr), within(0, 1e9, &epoch.Seconds))
		if t := epoch.Trace; t != nil {
			err = errors.Join(err, within(0, math.MaxFloat32, &t.TrainLoss), within(0, 100, &t.TrainErr, &t.TestErr))
		}
		if err != nil {
			return fmt.Errorf("epoch %d: %w", i+1, err)
		}
	}
	return nil
}

func (r Record) decodingsError() error {
	if (r.Decodings != nil) != r.Run.Decoded {
		return errors.New("a run has decodings if it is declared as decoded")
	}
	if r.Decodings == nil {
		return nil
	}
	for _, levels := range [][]Level{r.Decodings.Trained, r.Decodings.Untrained} {
		blocks := r.Run.Network.Blocks()
		if err := equal(len(levels), len(blocks)); err != nil {
			return fmt.Errorf("its number of blocks: %w", err)
		}
		for i, l := range levels {
			err := errors.Join(equal(l.Block, blocks[i].Name), within(0, 1, l.Difference, l.InkShare, l.InkArea, l.BiasSpread))
			for _, d := range []Reconstruction{l.Linear, l.Rectified} {
				err = errors.Join(err, within(-1, 1, &d.Cosine, d.ImageCosine, d.ImageControl), within(-1, 0.999999, &d.Control))
			}
			if err != nil {
				return fmt.Errorf("block %d: %w", i+1, err)
			}
		}
	}
	for _, figure := range r.Decodings.Figures {
		if figure.File != filepath.Base(figure.File) || filepath.Ext(figure.File) != ".png" {
			return fmt.Errorf("%.100q is no figure's name", figure.File)
		}
		if err := shaError(figure.SHA256); err != nil {
			return err
		}
	}
	return errors.Join(within(0, 1e9, &r.Decodings.Seconds), within(1, float64(r.Run.TestImages), new(float64(r.Decodings.Images))))
}

// ErrorRate is the share of images, in percent, whose prediction is not their label. Both are a character an image, equally long.
func ErrorRate(predictions, labels string) float64 {
	wrong := 0
	for i := range min(len(predictions), len(labels)) {
		if predictions[i] != labels[i] {
			wrong++
		}
	}
	return 100 * float64(wrong) / float64(len(labels))
}

// equal is an error where a value is not the one that was computed again.
func equal[T comparable](value, computed T) error {
	if value != computed {
		return fmt.Errorf("it says %v, and computed again it is %v", value, computed)
	}
	return nil
}

// classesError is an error where text is not a class for each image.
func classesError(text string, images, classes int) error {
	if err := equal(len(text), images); err != nil {
		return fmt.Errorf("its number of images: %w", err)
	}
	for i := range text {
		if class := int(text[i]) - '0'; class < 0 || class >= classes {
			return fmt.Errorf("image %d has no class: %q", i, text[i])
		}
	}
	return nil
}

// within is an error where a value that is there is not between two others.
func within(least, most float64, values ...*float64) error {
	for _, value := range values {
		if value != nil && !(*value >= least && *value <= most) {
			return errors.New("a number is out of range")
		}
	}
	return nil
}

// textError is an error where a name or another text of the record's file is too long, or has characters that a terminal or a page takes for
// commands.
func (r Record) textError(file []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(file))
	for token, err := tokens.Token(); err == nil; token, err = tokens.Token() {
		text, _ := token.(string)
		long := len(text) > 2000 && text != r.Predictions && text != r.Labels
		if long || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			return fmt.Errorf("%.40q… is too long or not printable", text)
		}
	}
	return nil
}

// shaError is an error where a text is no SHA-256 in hexadecimal digits.
func shaError(text string) error {
	if sum, err := hex.DecodeString(text); err != nil || len(sum) != 32 {
		return fmt.Errorf("%.70q is no SHA-256", text)
	}
	return nil
}
