package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"ebsscgo/experiments"
	"ebsscgo/internal/table"
)

// Comparison is a table A beside a table B of the same kind. Errors are in percent.
type Comparison struct {
	// Table is the name of the file, with its profile where several profiles are compared.
	Table string
	// Key is the column by whose value rows are matched.
	Key string
	// Rows that both tables have, in the order of A.
	Rows []ComparedRow
	// OnlyA and OnlyB are the rows that the other table lacks.
	OnlyA, OnlyB []string
}

// ComparedRow is a row that two tables have.
type ComparedRow struct {
	// Name is the row's value in the key column.
	Name string
	// Train and Test are the errors in percent; those of training are NaN where there are none.
	Train, Test Difference
	// Interval of the difference in test error, in percentage points, and the method that it was got by:
	//   - Welch, where both rows are means over several seeds that vary, see [Welch];
	//   - else binomial, by the number of test images, see [Newcombe]. A mean over seeds counts as one model there, and how
	//     much seeds vary is left out;
	//   - none, where the number of test images is not known either. The interval is unknown then.
	Interval Interval
	Method   string
	// Changes are the columns that say how a row was got, where they differ.
	Changes []Change
}

// Difference is a number in A and in B.
type Difference struct{ A, B float64 }

// Value is the number in B less the one in A.
func (d Difference) Value() float64 { return d.B - d.A }

// Change is a column with different values in A and B.
type Change struct{ Column, A, B string }

// What became of a row's test error.
const (
	Better    = "better"  // It is lower, beyond the interval.
	Worse     = "worse"   // It is higher, beyond the interval.
	Within    = "within"  // The interval holds zero.
	Undecided = "unknown" // No interval is known.
)

// Verdict is one of the constants above.
func (r ComparedRow) Verdict() string {
	switch {
	case r.Interval.Low > 0:
		return Worse
	case r.Interval.High < 0:
		return Better
	case math.IsNaN(r.Interval.Low):
		return Undecided
	default:
		return Within
	}
}

// Alike says whether both rows are of the same images at the same profile. Others differ in more than what was changed.
func (r ComparedRow) Alike() bool {
	return !slices.ContainsFunc(r.Changes, func(c Change) bool {
		return slices.Contains([]string{"dataset", "dataset_sha256", "profile"}, c.Column)
	})
}

// origins are the columns that say how a line was got, as far as a table has them.
var origins = []string{"dataset", "dataset_sha256", "profile", "backend", "epochs", "train_images", "test_images", "seeds", "alpha", "params", "commit"}

// tableKind is a kind of table that can be compared.
type tableKind struct {
	report experiments.Report
	layout table.Layout
	// suffix is what follows a study's name in the name of the file.
	suffix string
	// percent is what an error in the table is multiplied with to be in percent.
	percent float64
}

var tableKinds = []tableKind{
	{experiments.Rows, tableLayout, ".csv", 1},
	{experiments.Sweeps, sweepsLayout, "_summary.csv", 100},
}

// Compare puts results beside one another: two profiles' folders, two folders of profiles, or two CSV files of the same
// kind, which are the tables and the sweeps' summaries of all studies. Nothing in common is an error; a table or a row that
// only one of them has is not.
func Compare(a, b string) ([]Comparison, error) {
	folderA, err := isFolder(a)
	if err != nil {
		return nil, err
	}
	folderB, err := isFolder(b)
	if err != nil {
		return nil, err
	}
	if folderA != folderB {
		return nil, fmt.Errorf("%s and %s: compare a folder with a folder, or a file with a file", a, b)
	}
	var all []Comparison
	if folderA {
		all, err = compareFolders(a, b)
	} else {
		all, err = compareFiles(a, b)
	}
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(c Comparison) bool { return len(c.Rows) > 0 }) {
		return nil, fmt.Errorf("%s and %s have no row in common: compare a profile's folder with a profile's folder, or a folder of profiles with another", a, b)
	}
	return all, nil
}

// isFolder says whether a path is a folder or a file; else it is an error.
func isFolder(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("nothing to compare: %w; name a folder of results or a CSV file", err)
	}
	return info.IsDir(), nil
}

// compareFolders compares all tables that one of the folders has.
func compareFolders(a, b string) (all []Comparison, err error) {
	foldersA, err := profileFolders(a)
	if err != nil {
		return nil, err
	}
	foldersB, err := profileFolders(b)
	if err != nil {
		return nil, err
	}
	folders := slices.Compact(slices.Sorted(slices.Values(slices.Concat(foldersA, foldersB))))
	for _, folder := range folders {
		for _, study := range experiments.Studies {
			for _, kind := range tableKinds {
				name := filepath.Join(folder, study.Name+kind.suffix)
				pathA, pathB := filepath.Join(a, name), filepath.Join(b, name)
				if kind.report != study.Report || !exists(pathA) && !exists(pathB) {
					continue
				}
				comparison, err := kind.compare(name, pathA, pathB)
				if err != nil {
					return nil, err
				}
				all = append(all, comparison)
			}
		}
	}
	return all, nil
}

// profileFolders are the folders with tables in a folder of results: itself, or else those in it.
func profileFolders(results string) (folders []string, err error) {
	if hasTables(results) {
		return []string{"."}, nil
	}
	entries, err := os.ReadDir(results)
	if err != nil {
		return nil, fmt.Errorf("reading results: %w", err)
	}
	for _, entry := range entries {
		if hasTables(filepath.Join(results, entry.Name())) {
			folders = append(folders, entry.Name())
		}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("%s has no table to compare: name the folder of a profile, such as results/quick", results)
	}
	return folders, nil
}

// hasTables says whether a folder holds a table of some study.
func hasTables(folder string) bool {
	return slices.ContainsFunc(experiments.Studies, func(study experiments.Study) bool {
		return slices.ContainsFunc(tableKinds, func(kind tableKind) bool {
			return kind.report == study.Report && exists(filepath.Join(folder, study.Name+kind.suffix))
		})
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// compareFiles compares two files of the same kind.
func compareFiles(a, b string) ([]Comparison, error) {
	kindA, err := kindOf(a)
	if err != nil {
		return nil, err
	}
	kindB, err := kindOf(b)
	if err != nil {
		return nil, err
	}
	if kindA.report != kindB.report {
		return nil, fmt.Errorf("%s and %s are tables of different kinds (%s, %s): compare two of the same", a, b, kindA.report, kindB.report)
	}
	comparison, err := kindA.compare(filepath.Base(b), a, b)
	return []Comparison{comparison}, err
}

// kindOf tells a table's kind from its heading, as a file may have any name.
func kindOf(path string) (tableKind, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tableKind{}, fmt.Errorf("reading a table: %w", err)
	}
	heading, err := csv.NewReader(bytes.NewReader(text)).Read()
	if err == nil {
		for _, kind := range tableKinds {
			other := func(column string) bool { return !slices.Contains(kind.layout.Columns, column) }
			if heading[0] == kind.layout.Columns[0] && !slices.ContainsFunc(heading, other) {
				return kind, nil
			}
		}
		err = errors.New("other columns")
	}
	return tableKind{}, fmt.Errorf("%s is no table that can be compared (%w): name a table.csv, an unroll_summary.csv or one of another study", path, err)
}

// compare compares the tables in two files. One that is not there has no rows.
func (k tableKind) compare(name, pathA, pathB string) (Comparison, error) {
	c := Comparison{Table: filepath.ToSlash(name), Key: k.layout.Columns[0]}
	namesA, linesA, err := k.read(pathA)
	if err != nil {
		return c, err
	}
	namesB, linesB, err := k.read(pathB)
	if err != nil {
		return c, err
	}
	for _, name := range namesA {
		if b, ok := linesB[name]; ok {
			c.Rows = append(c.Rows, k.row(name, linesA[name], b))
		} else {
			c.OnlyA = append(c.OnlyA, name)
		}
	}
	for _, name := range namesB {
		if linesA[name] == nil {
			c.OnlyB = append(c.OnlyB, name)
		}
	}
	return c, nil
}

// read reads a table: the names of its rows in their order, and its lines by name.
func (k tableKind) read(path string) (names []string, lines map[string]Line, err error) {
	all, err := k.layout.Read(path)
	if err != nil {
		return nil, nil, err
	}
	lines = map[string]Line{}
	for _, l := range all {
		name := l[k.layout.Columns[0]]
		if lines[name] != nil {
			return nil, nil, fmt.Errorf("%s has the %s %q twice: restore it from git, or write it again with ebssc report", path, k.layout.Columns[0], name)
		}
		if testErr := k.percentage(l, "test_err"); !(testErr >= 0 && testErr <= 100) {
			return nil, nil, fmt.Errorf("%s: the test_err of %q is %q, no error rate: restore it from git, or write it again with ebssc report", path, name, l["test_err"])
		}
		names, lines[name] = append(names, name), l
	}
	return names, lines, nil
}

// row compares two lines.
func (k tableKind) row(name string, a, b Line) ComparedRow {
	r := ComparedRow{
		Name:  name,
		Train: Difference{k.percentage(a, "train_err"), k.percentage(b, "train_err")},
		Test:  Difference{k.percentage(a, "test_err"), k.percentage(b, "test_err")},
	}
	r.Interval, r.Method = k.interval(a, b)
	for _, column := range origins {
		if a[column] != b[column] {
			r.Changes = append(r.Changes, Change{column, a[column], b[column]})
		}
	}
	return r
}

// interval is that of the difference in test error, in percentage points, with the name of the method.
func (k tableKind) interval(a, b Line) (Interval, string) {
	seedsA, seedsB := k.seeds(a), k.seeds(b)
	if interval := Welch(seedsA, seedsB); !math.IsNaN(interval.Low) {
		return interval, fmt.Sprintf("Welch, %d and %d seeds", seedsA.N, seedsB.N)
	}
	imagesA, imagesB := testImages(a), testImages(b)
	if imagesA == 0 || imagesB == 0 {
		return unknown, "none"
	}
	method := fmt.Sprintf("binomial, %d images", imagesA)
	if imagesA != imagesB {
		method = fmt.Sprintf("binomial, %d and %d images", imagesA, imagesB)
	}
	interval := Newcombe(Proportion{seedsA.Mean / 100, imagesA}, Proportion{seedsB.Mean / 100, imagesB})
	return Interval{100 * interval.Low, 100 * interval.High}, method
}

// seeds are the test errors over a line's seeds, in percent.
func (k tableKind) seeds(l Line) Sample {
	seeds, _ := strconv.Atoi(l["seeds"]) // 0, none to speak of, where the line does not say
	return Sample{k.percentage(l, "test_err"), k.percentage(l, "test_err_std"), seeds}
}

// testImages is the number of images that a line's test error was measured on, 0 where an older table does not say.
func testImages(l Line) int {
	images, _ := strconv.Atoi(l["test_images"])
	return images
}

// percentage is an error or its deviation in percent, NaN where there is none.
func (k tableKind) percentage(l Line, column string) float64 { return k.percent * l.Number(column) }
