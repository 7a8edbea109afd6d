package report

import (
	"math"
	"slices"
	"strings"

	"ebsscgo/internal/plot"
)

// chart is a chart of the page, as an option of ECharts. What needs the browser (colours, sizes, texts of hovering) is added by page.js.
type chart struct {
	// Title in one or more lines.
	Title []string
	// Rows are the names of its series. A legend switches them on and off.
	Rows []string
	// Height in pixels.
	Height int
	Option object
}

// object is one of JSON, whose names are written in alphabetical order, the same each time.
type object = map[string]any

// unit of a quantity: as texts and ticks show it, and with how many decimals.
type unit struct {
	text, tick string
	decimals   int
}

// The units of charts.
var (
	percentages = unit{" %", " %", 2}
	nats        = unit{" nats", "", 4}
	cosines     = unit{"", "", 3}
)

// print a value in the unit.
func (u unit) print(value float64) string { return minus(decimals(value, u.decimals)) + u.text }

// Sizes of charts in pixels: a chart of curves, and the rows and margins of a chart of differences.
const (
	curvesHeight  = 320
	rowHeight     = 46
	marginsHeight = 100
)

// newChart makes a chart of a title, two axes and series.
func newChart(title string, height int, x, y object, series []object) chart {
	c := chart{Title: strings.Split(title, "\n"), Height: height}
	for _, s := range series {
		if name, _ := s["name"].(string); name != "" && !slices.Contains(c.Rows, name) {
			c.Rows = append(c.Rows, name)
		}
	}
	c.Option = object{
		"animation":       false,
		"backgroundColor": "transparent",
		"grid":            object{"left": 12, "right": 20, "top": 44, "bottom": 28, "outerBoundsMode": "same"},
		"legend":          object{"show": false}, // the page has one for several charts
		"toolbox":         object{"right": 12, "itemSize": 14, "feature": object{"dataZoom": object{"filterMode": "none"}}},
		"xAxis":           x,
		"yAxis":           y,
		"series":          series,
	}
	return c
}

// curvesChart is a chart of curves for the page, under another title, with a band from the smallest to the largest value where they differ.
func curvesChart(c plot.Chart, title string, u unit) chart {
	var bands, lines []object
	var all []plot.Point
	for _, curve := range c.Curves {
		line := object{"name": curve.Name, "type": "line", "symbolSize": 7, "showSymbol": len(curve.Points) <= plot.MaxMarkers,
			"emphasis": object{"focus": "series"}}
		var means, lows, widths []any
		for _, p := range curve.Points {
			means = append(means, object{"value": []float64{p.X, p.Mean}, "text": u.printPoint(p)})
			lows, widths = append(lows, []float64{p.X, p.Low}), append(widths, []float64{p.X, p.High - p.Low})
		}
		line["data"] = means
		lines, all = append(lines, line), append(all, curve.Points...)
		if slices.ContainsFunc(curve.Points, func(p plot.Point) bool { return p.Low < p.High }) {
			bands = append(bands, band(curve.Name, lows, 0), band(curve.Name, widths, 0.15))
		}
	}
	x := object{"type": "value", "name": c.X, "nameLocation": "middle", "nameGap": 28, "splitLine": object{"show": false}}
	var at, ends []float64
	for _, p := range all {
		at, ends = append(at, p.X), append(ends, p.Low, p.High)
	}
	slices.Sort(at)
	if c.LogX {
		logarithmic(x, at[0], at[len(at)-1], slices.Compact(at))
	} else {
		x["min"], x["max"] = at[0], at[len(at)-1]
		if at[len(at)-1]-at[0] >= 1 { // epochs and sweeps have no fractions
			x["minInterval"] = 1
		}
	}
	y := object{"type": "value", "name": c.Y, "nameTextStyle": object{"align": "left"}, "scale": true, "unit": u.tick}
	if c.Log {
		low, high := slices.Min(ends), slices.Max(ends)
		logarithmic(y, low, high, roundNumbers(low, high))
	}
	made := newChart(title, curvesHeight, x, y, append(lines, bands...))
	made.Option["tooltip"] = object{"trigger": "axis", "confine": true, "order": "valueDesc"}
	return made
}

// logarithmic makes an axis logarithmic, from below the lowest to above the highest value, with these ticks.
func logarithmic(axis object, low, high float64, ticks []float64) {
	at := object{"customValues": ticks}
	axis["type"], axis["min"], axis["max"], axis["axisTick"], axis["axisLabel"] = "log", low/1.2, high*1.2, at, at
}

// roundNumbers are 1, 2 and 5 times the powers of ten between two values.
func roundNumbers(low, high float64) (numbers []float64) {
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power++ {
		for _, digit := range []float64{1, 2, 5} {
			if number := digit * math.Pow(10, power); low <= number && number <= high {
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}

// printPoint prints a mean, and the smallest and largest value where they differ.
func (u unit) printPoint(p plot.Point) string {
	if p.Low < p.High {
		return u.print(p.Mean) + " (" + minus(decimals(p.Low, u.decimals)) + " to " + minus(decimals(p.High, u.decimals)) + ")"
	}
	return u.print(p.Mean)
}

// band is one of two series on top of one another that shade a band: an invisible one up to the lowest values, and one as high as the band.
func band(name string, data []any, opacity float64) object {
	return object{"name": name, "type": "line", "z": 1, "stack": "band of " + name, "data": data, "symbol": "none", "silent": true,
		"lineStyle": object{"opacity": 0}, "areaStyle": object{"opacity": opacity}, "emphasis": object{"disabled": true}, "tooltip": object{"show": false}}
}

// deltasChart is a chart of the differences of rows to their bases with intervals, for the page.
func deltasChart(title string, rows []Row) chart {
	var names []string
	series := []object{{ // the line at zero
		"type": "line", "data": []any{}, "silent": true,
		"markLine": object{"symbol": "none", "silent": true, "label": object{"show": false}, "lineStyle": object{"type": "solid", "color": "#888"},
			"data": []object{{"xAxis": 0}}},
	}}
	for i, row := range rows {
		names = append(names, row.Experiment.Title+"\nminus "+row.Base.Title)
		point := object{"value": []any{row.Delta.Value, i}, "text": row.deltaText() + " points"}
		series = append(series, object{"name": row.Experiment.Title, "type": "scatter", "symbolSize": 11, "data": []object{point}, "z": 3})
		if row.Delta.Interval.Known() {
			interval := [][]any{{row.Delta.Interval.Low, i}, {row.Delta.Interval.High, i}}
			series = append(series, object{"name": row.Experiment.Title, "type": "line", "symbol": "none", "silent": true,
				"lineStyle": object{"type": "solid"}, "tooltip": object{"show": false}, "data": interval})
		}
	}
	x := object{"type": "value", "name": "percentage points", "nameLocation": "middle", "nameGap": 28, "unit": ""}
	y := object{"type": "category", "data": names, "inverse": true, "axisLabel": object{"lineHeight": 16}, "axisTick": object{"show": false}, "axisLine": object{"show": false},
		"splitLine": object{"show": true}}
	made := newChart(title, marginsHeight+rowHeight*len(rows), x, y, series)
	made.Option["tooltip"] = object{"trigger": "axis", "confine": true, "axisPointer": object{"axis": "y", "type": "shadow"}}
	return made
}
