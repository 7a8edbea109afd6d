package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"unicode"
)

// check computes again what can be computed, and names the first field that does not fit.
func (r Record) check(path string) error {
	run, o := r.Run, r.Origin
	for _, field := range []struct {
		name  string
		check func() error
	}{
		{"Format", func() error { return equal(r.Format, Format) }},
		{"Run", run.Validate},
		{"ID", func() error { return equal(r.ID, run.ID()) }},
		{"ID", func() error { return equal(r.ID+suffix, filepath.Base(path)) }},
		{"Overrides", r.Overrides.Validate},
		{"Command", func() error { return shortTexts(r.Command) }},
		{"Parameters", func() error {
			count, err := run.Network.Count()
			return errors.Join(err, equal(r.Parameters, count.Total()))
		}},
		{"Labels", func() error { return classesError(r.Labels, run.TestImages, run.Network.Classes) }},
		{"Predictions", func() error { return classesError(r.Predictions, run.TestImages, run.Network.Classes) }},
		{"TestErr", func() error { return equal(r.TestErr, ErrorRate(r.Predictions, r.Labels)) }},
		{"TrainErr", func() error { return within(0, 100, &r.TrainErr) }},
		{"TrainLoss", func() error { return within(0, math.MaxFloat32, &r.TrainLoss) }},
		{"TestLoss", func() error { return within(0, math.MaxFloat32, &r.TestLoss) }},
		{"Penalty", func() error { return within(0, math.MaxFloat32, &r.Penalty) }},
		{"Seconds", func() error { return within(0, 1e9, &r.Seconds) }},
		{"Origin", func() error {
			return errors.Join(shortTexts(o.Commit, o.Go, o.GoMLX, o.Backend, o.Plugin, o.System, o.CPU, o.GPU),
				within(1, 1<<20, new(float64(o.Cores)), new(float64(o.Devices))))
		}},
		{"Curve", r.curveError},
		{"Decodings", r.decodingsError},
		{"Network", func() error { return errors.Join(shaError(r.Network.SHA256), shaError(r.Network.HalfSHA256)) }},
	} {
		if err := field.check(); err != nil {
			return refused(path, field.name, err)
		}
	}
	return nil
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
		if err := errors.Join(shortTexts(figure.File, figure.Title), shaError(figure.SHA256)); err != nil {
			return err
		}
		if figure.File != filepath.Base(figure.File) {
			return fmt.Errorf("%q is no file's name", figure.File)
		}
	}
	return within(0, 1e9, &r.Decodings.Seconds)
}

// ErrorRate is the share of images, in percent, whose prediction is not their label. Both are a character an image, equally long.
func ErrorRate(predictions, labels string) float64 {
	wrong := 0
	for i := range labels {
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

// shortTexts is an error where a text is too long for a name or a command, or has characters that a terminal takes for commands.
func shortTexts(texts ...string) error {
	for _, text := range texts {
		if len(text) > 2000 || strings.ContainsFunc(text, unicode.IsControl) {
			return errors.New("a text is too long or has control characters")
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
