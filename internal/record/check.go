package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
)

// check computes again what can be computed, and names the first field that does not fit.
func (r Record) check(path string) error {
	for _, field := range []struct {
		name  string
		check func() error
	}{
		{"Format", func() error { return equal(r.Format, Format) }},
		{"Run", r.Run.Validate},
		{"ID", func() error { return equal(r.ID, r.Run.ID()) }},
		{"ID", func() error { return equal(r.ID+suffix, filepath.Base(path)) }},
		{"Overrides", r.Overrides.Validate},
		{"Command", func() error { return shortText(r.Command) }},
		{"Parameters", r.parametersError},
		{"Labels", func() error { return classesError(r.Labels, r.Run.TestImages, r.Run.Network.Classes) }},
		{"Predictions", func() error { return classesError(r.Predictions, r.Run.TestImages, r.Run.Network.Classes) }},
		{"TestErr", func() error { return equal(r.TestErr, ErrorRate(r.Predictions, r.Labels)) }},
		{"TrainErr", func() error { return rangeError(r.TrainErr, 0, 100) }},
		{"TrainLoss", func() error { return rangeError(r.TrainLoss, 0, math.MaxFloat32) }},
		{"TestLoss", func() error { return rangeError(r.TestLoss, 0, math.MaxFloat32) }},
		{"Penalty", func() error { return rangeError(r.Penalty, 0, math.MaxFloat32) }},
		{"Seconds", func() error { return rangeError(r.Seconds, 0, 1e9) }},
		{"Origin", r.originError},
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

// parametersError is an error where the network has another number of parameters.
func (r Record) parametersError() error {
	count, err := r.Run.Network.Count()
	if err != nil {
		return err
	}
	return equal(r.Parameters, count.Total())
}

// originError is an error where a text about the program or the computer is too long to be one, or a number is none.
func (r Record) originError() error {
	o := r.Origin
	for _, text := range []string{o.Commit, o.Go, o.GoMLX, o.Backend, o.Plugin, o.System, o.CPU, o.GPU} {
		if err := shortText(text); err != nil {
			return err
		}
	}
	return errors.Join(rangeError(float64(o.Cores), 1, 1<<20), rangeError(float64(o.Devices), 1, 1<<20))
}

// curveError is an error where the curve cannot be that of the run.
func (r Record) curveError() error {
	if err := equal(len(r.Curve), r.Run.Epochs); err != nil {
		return fmt.Errorf("its number of epochs: %w", err)
	}
	for i, epoch := range r.Curve {
		if epoch.Epoch != i+1 || epoch.Step != (i+1)*r.Run.StepsPerEpoch() || (epoch.Trace != nil) != r.Run.Traced {
			return fmt.Errorf("epoch %d is not one of the run", i+1)
		}
		err := errors.Join(rangeError(epoch.BatchLoss, 0, math.MaxFloat32), rangeError(epoch.BatchErr, 0, 100), rangeError(epoch.Seconds, 0, 1e9))
		if t := epoch.Trace; t != nil {
			err = errors.Join(err, rangeError(t.TrainLoss, 0, math.MaxFloat32), rangeError(t.TrainErr, 0, 100), rangeError(t.TestErr, 0, 100))
		}
		if err != nil {
			return fmt.Errorf("epoch %d: %w", i+1, err)
		}
	}
	return nil
}

// decodingsError is an error where decodings are missing, of other blocks, or out of range.
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
		for i, level := range levels {
			err := equal(level.Block, blocks[i].Name)
			for _, reconstruction := range []Reconstruction{level.Linear, level.Rectified} {
				err = errors.Join(err, rangeError(reconstruction.Cosine, -1, 1), rangeError(reconstruction.Control, -1, 0.999999),
					optionalError(reconstruction.ImageCosine, -1), optionalError(reconstruction.ImageControl, -1))
			}
			for _, share := range []*float64{level.Difference, level.InkShare, level.InkArea, level.BiasSpread} {
				err = errors.Join(err, optionalError(share, 0))
			}
			if err != nil {
				return fmt.Errorf("block %d: %w", i+1, err)
			}
		}
	}
	for _, figure := range r.Decodings.Figures {
		if err := errors.Join(shortText(figure.File), shortText(figure.Title), shaError(figure.SHA256)); err != nil {
			return err
		}
		if figure.File != filepath.Base(figure.File) {
			return fmt.Errorf("%q is no file's name", figure.File)
		}
	}
	return rangeError(r.Decodings.Seconds, 0, 1e9)
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

// rangeError is an error where a value is not between two others.
func rangeError(value, least, most float64) error {
	if !(value >= least && value <= most) {
		return errors.New("a number is out of range")
	}
	return nil
}

// optionalError is an error where there is a value, and it is not between least and 1.
func optionalError(value *float64, least float64) error {
	if value == nil {
		return nil
	}
	return rangeError(*value, least, 1)
}

// shortText is an error where a text is too long for a name or a command, or has characters that a terminal takes for commands.
func shortText(text string) error {
	if len(text) > 2000 {
		return errors.New("a text is too long")
	}
	for _, r := range text {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return errors.New("a text has control characters")
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
