package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ebsscgo/internal/stats"
)

// Table is a report in rows and columns. Its values are typed until one of Markdown, CSV and Text prints them.
type Table struct {
	// Name of the CSV file, and Title above the table for readers; both may be empty.
	Name, Title string
	Columns     []Column
	// Rows have a cell for each column.
	Rows [][]Cell
	// Notes below the table, in Markdown.
	Notes []string
}

// Column is a column of a table.
type Column struct {
	// Title for readers, who do not see a column without one.
	Title string
	// Name in CSV files, which leave out a column without one. Kind says which further columns hold the parts of its cells.
	Name string
	Kind Kind
}

// Kind is what the cells of a column hold. Numbers are aligned to the right.
type Kind int

const (
	// Text is a word or a sentence, and Code a name or a command.
	Text Kind = iota
	Code
	// Number is a single number.
	Number
	// Mean is a mean over seeds with the standard deviation; CSV has columns _std and _n beside it.
	Mean
	// Interval is a number with its 95 % interval; CSV has columns _low and _high beside it.
	Interval
)

// Cell is a value of a table. The zero Cell is empty.
type Cell struct {
	text string
	// value, and low and high, the ends of its interval; NaN where there is none. deviation of the n seeds.
	value, low, high, deviation float64
	n                           int
	// format prints a number for readers; nil for a text.
	format func(float64) string
	bold   bool
}

// text, code, number and the others make cells of their kinds.
func text(s string) Cell { return Cell{text: s} }

func number(value float64, digits int) Cell {
	return between(value, math.NaN(), math.NaN(), decimals(digits))
}

// decimals prints numbers with so many of them, or with as many as they have for −1.
func decimals(digits int) func(float64) string {
	return func(value float64) string { return strconv.FormatFloat(value, 'f', digits, 64) }
}

// significant is a number with two digits, however small it is.
func significant(value float64) Cell {
	return between(value, math.NaN(), math.NaN(), func(value float64) string { return strconv.FormatFloat(value, 'g', 2, 64) })
}

func count(value int) Cell { return number(float64(value), 0) }

// paper is a number of the paper, empty where it has none.
func paper(value float64) Cell {
	if value == 0 {
		return Cell{}
	}
	return number(value, 2)
}

func mean(s stats.Sample, digits int) Cell {
	cell := number(s.Mean, digits)
	cell.deviation, cell.n = s.Std, s.N
	return cell
}

func between(value, low, high float64, format func(float64) string) Cell {
	return Cell{value: value, low: low, high: high, deviation: math.NaN(), format: format}
}

func estimated(e stats.Estimate, format func(float64) string) Cell {
	low, high := e.Interval()
	return between(e.Value, low, high, format)
}

// marked is the cell in bold where 0 lies outside its interval.
func (c Cell) marked() Cell {
	c.bold = c.low > 0 || c.high < 0
	return c
}

// empty says whether nothing is known of the value.
func (c Cell) empty() bool { return c.text == "" && (c.format == nil || math.IsNaN(c.value)) }

// number prints one number of the cell for readers. What rounds to 0 has no sign.
func (c Cell) number(value float64) string {
	printed := c.format(value)
	if strings.Trim(printed, "-0.") == "" {
		return strings.TrimPrefix(printed, "-")
	}
	return strings.Replace(printed, "-", "−", 1)
}

func (c Cell) read() string {
	switch {
	case c.empty():
		return "–"
	case c.format == nil:
		return clean(c.text)
	case !math.IsNaN(c.low):
		return fmt.Sprintf("%s (%s to %s)", c.number(c.value), c.number(c.low), c.number(c.high))
	case !math.IsNaN(c.deviation):
		return c.number(c.value) + " ± " + c.number(c.deviation)
	default:
		return c.number(c.value)
	}
}

// clean is a text in one line, without characters that a terminal takes for commands.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		default:
			return -1
		}
	}, s)
}

// shown are the columns that readers see, by their places.
func (t Table) shown() (places []int) {
	for i, column := range t.Columns {
		if column.Title != "" {
			places = append(places, i)
		}
	}
	return places
}

// Markdown is the table for the web, with its title above and its notes below.
func (t Table) Markdown() string {
	var all strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&all, "%s\n\n", escaped(t.Title))
	}
	titles, rules := "|", "|"
	for _, i := range t.shown() {
		titles += " " + escaped(t.Columns[i].Title) + " |"
		if rules += "---"; t.Columns[i].Kind > Code {
			rules += ":"
		}
		rules += "|"
	}
	fmt.Fprintf(&all, "%s\n%s\n", titles, rules)
	for _, row := range t.Rows {
		line := "|"
		for _, i := range t.shown() {
			line += " " + row[i].markdown(t.Columns[i].Kind) + " |"
		}
		all.WriteString(line + "\n")
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&all, "\n%s\n", note)
	}
	return all.String()
}

func (c Cell) markdown(kind Kind) string {
	switch {
	case kind == Code && !c.empty():
		return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(c.read()) + "`"
	case c.bold:
		return "**" + c.read() + "**"
	default:
		return escaped(c.read())
	}
}

// escapes are those of Markdown, and of HTML within it.
var escapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;")

// escaped is a text that Markdown shows as it is.
func escaped(s string) string { return escapes.Replace(clean(s)) }

// CSV is the table for programs: a number a column, without rounding for readers, and texts that no spreadsheet takes for formulas.
func (t Table) CSV() []byte {
	lines := make([][]string, 1+len(t.Rows))
	for i, column := range t.Columns {
		if column.Name == "" {
			continue
		}
		for _, part := range column.Kind.parts() {
			lines[0] = append(lines[0], column.Name+part)
		}
		for j, row := range t.Rows {
			lines[1+j] = append(lines[1+j], row[i].plain(column.Kind)...)
		}
	}
	var all bytes.Buffer
	_ = csv.NewWriter(&all).WriteAll(lines) // writing to memory does not fail
	return all.Bytes()
}

// parts are the ends of the names of a column's columns in CSV.
func (k Kind) parts() []string {
	switch k {
	case Mean:
		return []string{"", "_std", "_n"}
	case Interval:
		return []string{"", "_low", "_high"}
	default:
		return []string{""}
	}
}

// plain prints the parts of the cell for programs.
func (c Cell) plain(kind Kind) []string {
	all := make([]string, len(kind.parts()))
	switch {
	case c.empty():
	case c.format == nil:
		if all[0] = clean(c.text); strings.ContainsAny(all[0][:min(1, len(all[0]))], "=+-@") {
			all[0] = "'" + all[0]
		}
	case kind == Mean:
		all = []string{exact(c.value), exact(c.deviation), strconv.Itoa(c.n)}
	case kind == Interval:
		all = []string{exact(c.value), exact(c.low), exact(c.high)}
	default:
		all[0] = exact(c.value)
	}
	return all
}

// exact prints a number with six digits, or all digits of a whole one, so that rounding on other processors does not show; nothing for NaN and ∞.
func exact(value float64) string {
	switch {
	case math.IsNaN(value), math.IsInf(value, 0):
		return ""
	case value == math.Trunc(value) && math.Abs(value) < 1<<53:
		return strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return strconv.FormatFloat(value, 'g', 6, 64)
	}
}

// Text is the table for a terminal, with its title above and aligned columns.
func (t Table) Text() string {
	lines := make([]string, 1+len(t.Rows))
	for _, i := range t.shown() {
		cells := []string{strings.ToUpper(clean(t.Columns[i].Title))}
		for _, row := range t.Rows {
			cells = append(cells, row[i].read())
		}
		width := 0
		for _, cell := range cells {
			width = max(width, utf8.RuneCountInString(cell))
		}
		if t.Columns[i].Kind <= Code {
			width = -width // aligned to the left
		}
		for j, cell := range cells {
			lines[j] += fmt.Sprintf("%*s  ", width, cell)
		}
	}
	if t.Title != "" {
		lines = slices.Insert(lines, 0, clean(t.Title))
	}
	var all strings.Builder
	for _, line := range lines {
		all.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return all.String()
}
