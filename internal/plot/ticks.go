package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// decimalTicks returns up to six or seven ticks at round numbers.
func decimalTicks(low, high float64) []plot.Tick {
	return ticksAt(low, high, roundStep(math.Pow(10, math.Floor(math.Log10((high-low)/6))), high-low, 6))
}

// integerTicks returns about ten ticks at most, at integers; decimal ones of an axis that is shorter than 1.
func integerTicks(low, high float64) []plot.Tick {
	if high-low < 1 {
		return decimalTicks(low, high)
	}
	return ticksAt(low, high, roundStep(1, high-low, 10))
}

// roundStep returns the first of 1, 2, 5, 10, 20, … times power that fits into the span at most `most` times.
func roundStep(power, span, most float64) float64 {
	step := power
	for i := 0; span/step > most; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	return step
}

// ticksAt returns ticks at the multiples of a step; none if the axis has no length.
func ticksAt(low, high, step float64) (all []plot.Tick) {
	if !(low < high) {
		return nil
	}
	const slack = 1e-9 // in floating point 3 · 0.1 > 0.3
	for i := math.Ceil(low/step - slack); i <= high/step+slack; i++ {
		value := i*step + 0 // −0 becomes 0
		all = append(all, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', 5, 64)})
	}
	return all
}

// logTicks returns ticks of a logarithmic axis: labelled at 1, 2 and 5 times powers of ten, unlabelled between. An axis too short for two such
// labels has decimal ticks.
func logTicks(low, high float64) (all []plot.Tick) {
	labelled := 0
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: digit * power}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if digit == 1 || digit == 2 || digit == 5 {
				tick.Label = strconv.FormatFloat(tick.Value, 'g', 5, 64)
				labelled++
			}
			all = append(all, tick)
		}
	}
	if labelled < 2 {
		return decimalTicks(low, high)
	}
	return all
}
