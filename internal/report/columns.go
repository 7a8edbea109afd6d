package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"text/tabwriter"
)

// Column is a column of a table whose rows are of type R.
type Column[R any] struct {
	// Name of the column in CSV files. They leave out a column without a name.
	Name string
	// Heading of the column in Markdown and on a terminal. They leave out a column without a heading.
	Heading string
	// Number aligns the column to the right in Markdown.
	Number bool
	// Cell is a row's text; empty where nothing is known.
	Cell func(R) string
}

// Columns print rows of type R.
type Columns[R any] []Column[R]

// cells are the titles of the columns that have one, and each row's cells below them.
func (c Columns[R]) cells(title func(Column[R]) string, rows []R) [][]string {
	lines := make([][]string, 1+len(rows))
	for _, column := range c {
		if title(column) == "" {
			continue
		}
		lines[0] = append(lines[0], title(column))
		for i, row := range rows {
			lines[1+i] = append(lines[1+i], column.Cell(row))
		}
	}
	return lines
}

// CSV is the table as a CSV file.
func (c Columns[R]) CSV(rows []R) []byte {
	var text bytes.Buffer
	lines := c.cells(func(column Column[R]) string { return column.Name }, rows)
	_ = csv.NewWriter(&text).WriteAll(lines) // writing to memory does not fail
	return text.Bytes()
}

// Markdown is the table in Markdown, with a dash in empty cells.
func (c Columns[R]) Markdown(rows []R) string {
	var text strings.Builder
	for i, line := range c.reading(rows) {
		for j := range line {
			line[j] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(line[j])
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			text.WriteString(c.alignment())
		}
	}
	return text.String()
}

// alignment is the line below the headings of a table in Markdown.
func (c Columns[R]) alignment() string {
	line := "|"
	for _, column := range c {
		switch {
		case column.Heading == "":
		case column.Number:
			line += "---:|"
		default:
			line += "---|"
		}
	}
	return line + "\n"
}

// Text is the table for a terminal, with aligned columns and a dash in empty cells.
func (c Columns[R]) Text(rows []R) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i, line := range c.reading(rows) {
		if i == 0 {
			line = strings.Split(strings.ToUpper(strings.Join(line, "\t")), "\t")
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	_ = w.Flush() // writing to memory does not fail
	return text.String()
}

// reading are the lines of the table for reading.
func (c Columns[R]) reading(rows []R) [][]string {
	lines := c.cells(func(column Column[R]) string { return column.Heading }, rows)
	for _, line := range lines[1:] {
		for j := range line {
			line[j] = orDash(line[j])
		}
	}
	return lines
}
