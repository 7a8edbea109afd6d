package record

import (
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
		{"Parameters", r.parametersError},
		{"Labels", func() error { return classesError(r.Labels, r.Run.TestImages, r.Run.Network.Classes) }},
		{"Predictions", func() error { return classesError(r.Predictions, r.Run.TestImages, r.Run.Network.Classes) }},
		{"TestErr", func() error { return equal(r.TestErr, ErrorRate(r.Predictions, r.Labels)) }},
		{"TrainErr", func() error { return rangeError(r.TrainErr, 100) }},
		{"TrainObjective", func() error { return rangeError(r.TrainObjective, math.MaxFloat64) }},
		{"TestObjective", func() error { return rangeError(r.TestObjective, math.MaxFloat64) }},
		{"Penalty", func() error {
			if r.Penalty == nil {
				return nil
			}
			return rangeError(*r.Penalty, min(r.TrainObjective, r.TestObjective))
		}},
		{"Seconds", func() error { return rangeError(r.Seconds, math.MaxFloat64) }},
		{"Curve", r.curveError},
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

// curveError is an error where the curve cannot be that of the run.
func (r Record) curveError() error {
	if err := equal(len(r.Curve), r.Run.Epochs); err != nil {
		return fmt.Errorf("its number of epochs: %w", err)
	}
	for i, epoch := range r.Curve {
		if epoch.Epoch != i+1 || epoch.Step != (i+1)*r.Run.StepsPerEpoch() || (epoch.Trace != nil) != r.Run.Traced {
			return fmt.Errorf("epoch %d is not one of the run", i+1)
		}
	}
	if last := r.Curve[len(r.Curve)-1]; last.Trace != nil {
		if err := equal(last.Trace.TestErr, r.TestErr); err != nil {
			return fmt.Errorf("the last test error: %w", err)
		}
	}
	return nil
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

// rangeError is an error where a value is negative, too large or not a number.
func rangeError(value, most float64) error {
	if !(value >= 0 && value <= most) {
		return errors.New("it is out of range")
	}
	return nil
}
