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
	// Heading of the column in Markdown, on the page and on a terminal. They leave out a column without a heading.
	Heading string
	// Number aligns the column to the right in Markdown and on the page.
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

// Text is the table for a terminal, with aligned columns and a dash in empty cells.
func (c Columns[R]) Text(rows []R) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	t := c.table(rows)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(t.headings, "\t")))
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // writing to memory does not fail
	return text.String()
}

// table is a table for reading.
type table struct {
	// headings of the columns, and whether they are aligned to the right.
	headings []string
	numbers  []bool
	// rows of cells; code in them stands between backquotes, and a dash where nothing is known.
	rows [][]string
}

// table is the table for reading.
func (c Columns[R]) table(rows []R) table {
	lines := c.cells(func(column Column[R]) string { return column.Heading }, rows)
	t := table{headings: lines[0], rows: lines[1:]}
	for _, column := range c {
		if column.Heading != "" {
			t.numbers = append(t.numbers, column.Number)
		}
	}
	for _, row := range t.rows {
		for j := range row {
			row[j] = orDash(row[j])
		}
	}
	return t
}

// markdown is the table in Markdown.
func (t table) markdown() string {
	var text strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			fmt.Fprintf(&text, "| %s ", strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell))
		}
		text.WriteString("|\n")
	}
	line(t.headings)
	for _, number := range t.numbers {
		if number {
			text.WriteString("|---:")
		} else {
			text.WriteString("|---")
		}
	}
	text.WriteString("|\n")
	for _, row := range t.rows {
		line(row)
	}
	return text.String()
}
