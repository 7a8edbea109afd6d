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

// Table is a report in rows and columns. Its values are typed until one of Markdown, CSV and Text
// prints them.
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
	// Name in CSV files, which leave out a column without one. Kind says which further columns hold
	// the parts of its cells.
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
	// value, low and high, the ends of its interval, and the deviation of n seeds; NaN where there is
	// none. few says that these are fewer seeds than planned, and shows readers n.
	value, low, high, deviation float64
	n                           int
	few                         bool
	// format of a number for readers; empty for a text.
	format string
	bold   bool
	// paper is the paper's value, which readers see in brackets; empty without one.
	paper string
}

// text, number, mean, interval and the others make cells of their kinds.
func text(s string) Cell { return Cell{text: s} }

func number(value float64, digits int) Cell {
	return formatted(value, fmt.Sprintf("%%.%df", digits))
}

func count(value int) Cell { return number(float64(value), 0) }

func formatted(value float64, format string) Cell {
	return Cell{value: value, low: math.NaN(), high: math.NaN(), deviation: math.NaN(), format: format}
}

func mean(s stats.Sample, digits int) Cell {
	cell := number(s.Mean, digits)
	cell.deviation, cell.n = s.Std, s.N
	return cell
}

func interval(e stats.Estimate, format string) Cell {
	cell := formatted(e.Value, format)
	cell.low, cell.high = e.Interval()
	return cell
}

// ofSeeds returns the cell as one of n of the planned seeds.
func (c Cell) ofSeeds(n, planned int) Cell {
	c.n, c.few = n, n < planned
	return c
}

// boldIfClear returns the cell in bold where 0 lies outside its interval.
func (c Cell) boldIfClear() Cell {
	c.bold = c.low > 0 || c.high < 0
	return c
}

// empty says whether nothing is known of the value.
func (c Cell) empty() bool {
	return c.text == "" && (c.format == "" || math.IsNaN(c.value) || math.IsInf(c.value, 0))
}

// number prints one number of the cell for readers. What rounds to 0 has no sign.
func (c Cell) number(value float64) string {
	printed := fmt.Sprintf(c.format, value)
	if strings.Trim(printed, "-0.") == "" {
		return strings.TrimPrefix(printed, "-")
	}
	return strings.ReplaceAll(printed, "-", "−")
}

func (c Cell) human() string {
	if c.paper != "" {
		paper := c.paper
		c.paper = ""
		return c.human() + " (" + paper + ")"
	}
	switch {
	case c.empty():
		return "–"
	case c.format == "":
		return printable(c.text)
	}
	shown := c.number(c.value)
	if !math.IsNaN(c.low) {
		shown += fmt.Sprintf(" (%s to %s)", c.number(c.low), c.number(c.high))
	} else if !math.IsNaN(c.deviation) {
		shown += " ± " + c.number(c.deviation)
	}
	if c.few {
		shown += fmt.Sprintf(", n = %d", c.n)
	}
	return shown
}

// printable returns a text in one line, without characters that a terminal takes for commands.
func printable(s string) string {
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

// readerColumns returns the lines that readers see, the titles first, and the kinds of their
// columns.
func (t Table) readerColumns(title func(string) string,
	cell func(Cell, Kind) string) (lines [][]string, kinds []Kind) {
	lines = make([][]string, 1+len(t.Rows))
	for i, column := range t.Columns {
		if column.Title == "" {
			continue
		}
		kinds, lines[0] = append(kinds, column.Kind), append(lines[0], title(column.Title))
		for j, row := range t.Rows {
			lines[1+j] = append(lines[1+j], cell(row[i], column.Kind))
		}
	}
	return lines, kinds
}

// Markdown is the table for the web, with its title above and its notes below.
func (t Table) Markdown() string {
	var all strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&all, "%s\n\n", escaped(t.Title))
	}
	lines, kinds := t.readerColumns(escaped, Cell.markdown)
	var rule []string
	for _, kind := range kinds {
		if kind <= Code {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	for _, line := range slices.Insert(lines, 1, rule) {
		fmt.Fprintf(&all, "| %s |\n", strings.Join(line, " | "))
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&all, "\n%s\n", note)
	}
	return all.String()
}

func (c Cell) markdown(kind Kind) string {
	switch {
	case kind == Code && !c.empty():
		return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(c.human()) + "`"
	case c.bold:
		return "**" + c.human() + "**"
	default: // a number and its deviation stay in one line
		return strings.ReplaceAll(escaped(c.human()), " ± ", "&nbsp;±&nbsp;")
	}
}

// escapes are those of Markdown, and of HTML within it.
var escapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "$", `\$`, "`", "\\`", "*", `\*`, "_", `\_`,
	"[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`, "<", "&lt;", ">", "&gt;", "&", "&amp;")

// escaped is a text that Markdown shows as it is.
func escaped(s string) string { return escapes.Replace(printable(s)) }

// CSV is the table for programs: a number a column, without rounding for readers, and texts that no
// spreadsheet takes for formulas.
func (t Table) CSV() []byte {
	lines := make([][]string, 1+len(t.Rows))
	for i, column := range t.Columns {
		if column.Name == "" {
			continue
		}
		for _, part := range parts[column.Kind] {
			lines[0] = append(lines[0], column.Name+part)
		}
		for j, row := range t.Rows {
			lines[1+j] = append(lines[1+j], row[i].csvFields(column.Kind)...)
		}
	}
	var all bytes.Buffer
	_ = csv.NewWriter(&all).WriteAll(lines) // writing to memory does not fail
	return all.Bytes()
}

// parts are the ends of the names of a column's columns in CSV.
var parts = [][]string{Text: {""}, Code: {""}, Number: {""}, Mean: {"", "_std", "_n"},
	Interval: {"", "_low", "_high"}}

// csvFields returns the parts of the cell for programs.
func (c Cell) csvFields(kind Kind) []string {
	all := []string{sixDigits(c.value), sixDigits(c.low), sixDigits(c.high)}
	if kind == Mean {
		all = []string{sixDigits(c.value), sixDigits(c.deviation), strconv.Itoa(c.n)}
	}
	if c.format == "" || c.empty() {
		if all = make([]string, 3); strings.IndexAny(printable(c.text), "=+-@＝＋－＠") == 0 {
			all[0] = "'"
		}
		all[0] += printable(c.text)
	}
	return all[:len(parts[kind])]
}

// sixDigits prints a number with six digits, or all digits of a whole one, so that rounding on
// other processors does not show; nothing for NaN and ∞.
func sixDigits(value float64) string {
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
	var all strings.Builder
	if t.Title != "" {
		all.WriteString(strings.Join(Fold(printable(t.Title), 80), "\n") + "\n")
	}
	heading := func(title string) string { return strings.ToUpper(printable(title)) }
	lines, kinds := t.readerColumns(heading, func(c Cell, _ Kind) string { return c.human() })
	widths := make([]int, len(kinds))
	for i := range kinds {
		for _, line := range lines[1:] {
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	for _, line := range append(wrapTitles(lines[0], widths), lines[1:]...) {
		padded := ""
		for i, kind := range kinds {
			width := widths[i]
			if kind <= Code {
				width = -width // aligned to the left
			}
			padded += fmt.Sprintf("%*s  ", width, line[i])
		}
		all.WriteString(strings.TrimRight(padded, " ") + "\n")
	}
	return all.String()
}

// wrapTitles breaks titles between words to the widths of their columns, which it makes as wide as
// the longest word. The last line of each stands above its column.
func wrapTitles(titles []string, widths []int) (lines [][]string) {
	broken, most := make([][]string, len(titles)), 0
	for i, title := range titles {
		for _, word := range strings.Fields(title) {
			widths[i] = max(widths[i], utf8.RuneCountInString(word))
		}
		broken[i] = Fold(title, widths[i])
		most = max(most, len(broken[i]))
	}
	for n := range most {
		line := make([]string, len(titles))
		for i, parts := range broken {
			if at := n - most + len(parts); at >= 0 {
				line[i] = parts[at]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// Fold breaks a text between words into lines of at most width characters, or of one longer word.
func Fold(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last]+" "+word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// besidePaper shows readers the paper's values, those of columns named paper_…, in brackets behind
// ours.
func (t Table) besidePaper() Table {
	for paper, column := range t.Columns {
		name, found := strings.CutPrefix(column.Name, "paper_")
		if !found || !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return !row[paper].empty() }) {
			continue
		}
		ours := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
		t.Columns[ours].Title += " (paper)"
		for _, row := range t.Rows {
			if !row[paper].empty() {
				row[ours].paper = row[paper].human()
			}
		}
	}
	return t
}

// withoutEmpty hides columns from readers that are empty in all rows.
func (t Table) withoutEmpty() Table {
	for i := range t.Columns {
		if !slices.ContainsFunc(t.Rows, func(row []Cell) bool { return !row[i].empty() }) {
			t.Columns[i].Title = ""
		}
	}
	return t
}
