package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/internal/plot"
)

// chart has one curve, with or without a spread.
func chart(spread float64) plot.Chart {
	return plot.Chart{Title: "first\nsecond", X: "epoch", Y: "error",
		Curves: []plot.Curve{{Name: "T = 0", Points: []plot.Point{
			{X: 1, Mean: 4, Low: 4 - spread, High: 4 + spread}, {X: 2, Mean: 1, Low: 1, High: 1 + spread},
			{X: 3, Mean: 0.2, Low: 0.2, High: 0.2},
		}}}}
}

// svg renders a chart as SVG, which must be well-formed.
func svg(t *testing.T, c plot.Chart) string {
	figure, err := plot.Charts(c)
	require.NoError(t, err)
	text, err := figure.SVG()
	require.NoError(t, err)
	for decoder := xml.NewDecoder(bytes.NewReader(text)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return string(text)
		}
		require.NoError(t, err)
	}
}

// Curves are labelled by name, axes at round numbers and whole epochs: few of long trainings, the
// one of a single epoch, and powers of ten of logarithms.
func TestChartLabels(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*plot.Chart)
		has, no []string
	}{
		"a few epochs": {func(*plot.Chart) {}, []string{"first", "second", "epoch", "error", "T = 0", "1",
			"2", "3"}, []string{"1.5"}},
		"one epoch": {func(c *plot.Chart) { c.Curves[0].Points = c.Curves[0].Points[:1] },
			[]string{"1"}, []string{"2"}},
		"many epochs": {func(c *plot.Chart) {
			for x := 4; x <= 200; x++ {
				c.Curves[0].Points = append(c.Curves[0].Points, plot.At(float64(x), 1))
			}
		}, []string{"50", "100", "200"}, []string{"30"}},
		"logarithm": {func(c *plot.Chart) { c.Log = true }, []string{"0.1", "1", "10"}, nil},
		"logarithm of small numbers": {func(c *plot.Chart) {
			c.Log, c.Curves[0].Points[2] = true, plot.At(3, 2e-6)
		}, []string{"1e-06", "1e-05", "0.0001", "0.001"}, nil},
	} {
		chart := chart(0)
		c.change(&chart)
		text := svg(t, chart)
		for _, label := range c.has {
			require.Contains(t, text, ">"+label+"</text>", name)
		}
		for _, label := range c.no {
			require.NotContains(t, text, ">"+label+"</text>", name)
		}
		require.Contains(t, text, "sans-serif")
		require.NotContains(t, text, "Liberation Serif")
	}
	zero := chart(0)
	zero.Log, zero.Curves[0].Points[2].Low = true, 0
	_, err := plot.Charts(zero)
	require.ErrorContains(t, err, "logarithmic")
}

// Axes have up to seven ticks, at round numbers.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		labels    []string
	}{
		{-3, 3, []string{"−3", "−2", "−1", "0", "1", "2", "3"}},
		{0.01, 0.31, []string{"0.05", "0.1", "0.15", "0.2", "0.25", "0.3"}},
		{-0.2, 0.3, []string{"−0.2", "−0.1", "0", "0.1", "0.2", "0.3"}},
		// ends, though a step is lost
		{88.65, 88.65000000000002, []string{"88.65", "88.65", "88.65", "88.65", "88.65"}},
	} {
		var labels []string
		for _, tick := range plot.Plot("", "", "").Y.Tick.Marker.Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		require.Equal(t, c.labels, labels)
	}
}

// Curves with a spread have a band, and those of few points have markers.
func TestChartMarks(t *testing.T) {
	require.Equal(t, 0, strings.Count(svg(t, chart(0)), "fill-opacity"))
	require.Equal(t, 1, strings.Count(svg(t, chart(0.5)), "fill-opacity"))
	marks := func(points int) int {
		c := chart(0)
		c.Curves[0].Points = nil
		for x := range points {
			c.Curves[0].Points = append(c.Curves[0].Points,
				plot.Point{X: float64(x), Mean: 1, Low: 1, High: 1})
		}
		return strings.Count(svg(t, c), "A2.2,2.2 0 1 1") / 2
	}
	require.Equal(t, 5, marks(5))
	require.Zero(t, marks(100))
}
