package plot

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// decimalTicks are up to seven ticks at round numbers; none if the axis has no length.
func decimalTicks(low, high float64) []plot.Tick {
	if !(low < high) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/6)))
	for i := 0; (high-low)/step > 6; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	const slack = 1e-9 // in floating point 3 · 0.1 > 0.3
	var values []float64
	for i := math.Ceil(low/step - slack); i <= high/step+slack; i++ {
		values = append(values, i*step+0) // −0 becomes 0
	}
	return ticksAt(values)
}

// ticksAt are ticks at each of the values.
func ticksAt(values []float64) (all []plot.Tick) {
	for _, value := range values {
		all = append(all, plot.Tick{Value: value, Label: strings.Replace(strconv.FormatFloat(value, 'g', 5, 64), "-", "−", 1)})
	}
	return all
}

// logTicks are ticks of a logarithmic axis at 1, 2 and 5 times powers of ten; decimal ones of an axis that is too short for two of them.
func logTicks(low, high float64) []plot.Tick {
	var values []float64
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, value := range []float64{power, 2 * power, 5 * power} {
			if value >= low && value <= high {
				values = append(values, value)
			}
		}
	}
	if len(values) < 2 {
		return decimalTicks(low, high)
	}
	return ticksAt(values)
}
