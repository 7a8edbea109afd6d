// Package table keeps results in CSV files, to which several machines add their lines: what one measured replaces the
// lines of the same key, and the others stay as they are.
package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"ebsscgo/internal/files"
)

// Line is a line of a table: its fields by column. A column that it lacks is empty.
type Line map[string]string

// Layout says what a table looks like.
type Layout struct {
	// Columns in their order.
	Columns []string
	// Keys is how many of the first columns say what a line is about. Several lines may share a key.
	Keys int
}

// Read reads a table; it has no lines where there is no file. Columns that an older file lacks are empty; one with
// columns that the layout lacks is refused, as writing it would lose them.
func (l Layout) Read(path string) ([]Line, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && len(records) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): remove it, or restore it from git", path, err)
	}
	heading := records[0]
	for _, column := range heading {
		if !slices.Contains(l.Columns, column) {
			return nil, fmt.Errorf("%s has other columns than this program writes (%s): move it away", path, column)
		}
	}
	var lines []Line
	for _, record := range records[1:] {
		line := Line{}
		for i, column := range heading {
			line[column] = record[i]
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Write replaces the file of a table in one step.
func (l Layout) Write(path string, lines []Line) error {
	records := [][]string{l.Columns}
	for _, line := range lines {
		records = append(records, line.fields(l.Columns))
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(records); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return files.Write(path, text.Bytes())
}

// Update puts lines into the file of a table as [Layout.Merge] does.
func (l Layout) Update(path string, lines []Line) error {
	old, err := l.Read(path)
	if err != nil {
		return err
	}
	return l.Write(path, l.Merge(old, lines))
}

// Merge puts lines in the place of the old ones of the same key, in the order that they have among themselves; those of a
// new key go to the end. Old lines of other keys stay where they are.
func (l Layout) Merge(old, lines []Line) (merged []Line) {
	byKey := map[string][]Line{}
	for _, line := range lines {
		key := l.key(line)
		byKey[key] = append(byKey[key], line)
	}
	written := map[string]bool{}
	for _, line := range slices.Concat(old, lines) {
		key := l.key(line)
		if _, replaced := byKey[key]; !replaced {
			merged = append(merged, line)
		} else if !written[key] {
			merged, written[key] = append(merged, byKey[key]...), true
		}
	}
	return merged
}

// Same says whether two lines are about the same.
func (l Layout) Same(a, b Line) bool { return l.key(a) == l.key(b) }

// Number is the number in a column, NaN where there is none.
func (line Line) Number(column string) float64 {
	value, err := strconv.ParseFloat(line[column], 64)
	if err != nil {
		return math.NaN()
	}
	return value
}

// Drop empties columns.
func (line Line) Drop(columns ...string) {
	for _, column := range columns {
		delete(line, column)
	}
}

// key tells a line from those about other things.
func (l Layout) key(line Line) string {
	return strings.Join(line.fields(l.Columns[:l.Keys]), "\x00")
}

// fields are those of the given columns.
func (line Line) fields(columns []string) (fields []string) {
	for _, column := range columns {
		fields = append(fields, line[column])
	}
	return fields
}
