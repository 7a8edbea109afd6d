package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"ebsscgo/experiments"
	"ebsscgo/internal/atomicfile"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/device"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
)

// Names of files in a profile's folder.
const (
	// ClaimsFile is the ledger for reading; PageFile shows all reports on one page.
	ClaimsFile = "claims.md"
	PageFile   = "report.html"

	claimsCSV     = "claims.csv"
	decodingCSV   = "decoding.csv"
	trialsCSV     = "trials.csv"
	scansCSV      = "scans.csv"
	gridCSV       = "grid.csv"
	scanPrefix    = "scan_"
	summarySuffix = "_summary.csv"
	shrinkage     = "shrinkage"
	lockFile      = "report.lock"
	curvesFolder  = "curves"
)

// Write loads the records of a profile and writes all its reports. They follow from the records alone: the same records give the
// same files, byte for byte. It removes reports that no record supports any more, and leaves all other files as they are. It waits while
// another process writes the same reports.
func Write(ctx context.Context, results, profile string, suite experiments.Suite) (*Profile, error) {
	folder := filepath.Join(results, profile)
	if _, err := os.Stat(filepath.Join(folder, record.Folder)); errors.Is(err, fs.ErrNotExist) {
		return Load(results, profile, suite) // what lies there, if anything does, is not ours
	}
	unlock, err := lock(ctx, filepath.Join(folder, record.Folder))
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := Load(results, profile, suite)
	if err != nil {
		return nil, err
	}
	out, err := p.reports()
	if err != nil {
		return nil, err
	}
	if err := out.write(folder); err != nil {
		return nil, err
	}
	return p, p.removeOthers(out)
}

// lockRetry is how long the lock of reports waits before it tries again.
const lockRetry = 100 * time.Millisecond

// lock waits until no other process writes the reports of a folder, and keeps others waiting until unlock is called or this process ends. It
// returns ctx's cause if ctx ends first.
// Without it the slower of two could write reports that lack a record which the other has seen.
func lock(ctx context.Context, folder string) (unlock func() error, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("a folder for results: %w; give another with --results", err)
	}
	file := flock.New(filepath.Join(folder, lockFile), flock.SetPermissions(0o644))
	if _, err := file.TryLockContext(ctx, lockRetry); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("locking the reports in %s: %w; give another folder with --results", folder, err)
	}
	return file.Unlock, nil
}

// reports are all files of the profile's reports.
func (p *Profile) reports() (output, error) {
	out := output{}
	if len(p.Records) == 0 {
		return out, nil
	}
	if err := drawShrinkage(out); err != nil {
		return nil, err
	}
	var documents []document
	var decoded []decodedBlock
	for _, study := range p.suite {
		settings := p.settings[study.Name]
		if len(settings) == 0 {
			continue
		}
		var d document
		var err error
		switch study.Report {
		case experiments.Rows:
			d, err = p.reportRows(out, tables, study, settings)
		case experiments.Sweeps:
			d, err = p.reportRows(out, sweepsReport, study, settings)
		case experiments.Decodings:
			var lines []decodedBlock
			d, lines, err = p.reportDecodings(out, study, settings)
			decoded = append(decoded, lines...)
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	if len(decoded) > 0 {
		out[decodingCSV] = decodingColumns.CSV(decoded)
	}
	if trials := slices.DeleteFunc(p.Runs(), func(r RunsRow) bool { return len(r.Differences) == 0 }); len(trials) > 0 {
		out[trialsCSV] = runsColumns.CSV(trials)
	}
	claims, err := p.reportClaims(out)
	if err != nil {
		return nil, err
	}
	if err := p.reportGrids(out); err != nil {
		return nil, err
	}
	scans, err := p.reportScans(out)
	if err != nil {
		return nil, err
	}
	documents = slices.DeleteFunc(slices.Concat([]document{claims}, documents, []document{scans}), func(d document) bool { return len(d.blocks) == 0 })
	for _, d := range documents {
		if d.title != "" {
			out[d.name+".md"] = d.markdown()
		}
	}
	return out, p.reportPage(out, documents)
}

// drawShrinkage adds the paper's Fig. 2, which needs no network. The backend in pure Go computes the same bytes everywhere.
func drawShrinkage(out output) error {
	backend, _, err := device.Open(context.Background(), "go", 1)
	if err != nil {
		return fmt.Errorf("drawing the shrinkage: %w", err)
	}
	defer backend.Finalize()
	drawn, err := decode.Shrinkage(backend)
	if err != nil {
		return err
	}
	return out.add(record.FiguresFolder+"/"+shrinkage, drawn)
}

// output holds files by their paths in a profile's folder, with slashes.
type output map[string][]byte

// draw adds a figure of a study as SVG and PNG, and appends it to the figures of its report. The chart shows the same on the page.
func (o output) draw(figures []figure, study experiments.Study, suffix, title string, drawn plot.Figure, same chart) ([]figure, error) {
	path := fmt.Sprintf("%s/%s_%s", record.FiguresFolder, study.Name, suffix)
	return append(figures, figure{path + ".svg", title, []chart{same}}), o.add(path, drawn)
}

// add adds a figure as SVG and PNG.
func (o output) add(path string, drawn plot.Figure) (err error) {
	if o[path+".svg"], err = drawn.SVG(); err != nil {
		return fmt.Errorf("%s.svg: %w", path, err)
	}
	if o[path+".png"], err = drawn.PNG(); err != nil {
		return fmt.Errorf("%s.png: %w", path, err)
	}
	return nil
}

// write writes the files that are not yet as they should be, each to a temporary name that is then renamed.
func (o output) write(folder string) error {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := atomicfile.RemoveUnfinished(filepath.Split(path)); err != nil {
			return err
		}
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, o[name]) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("a folder for %s: %w", path, err)
		}
		if err := atomicfile.Write(path, o[name]); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
	}
	return nil
}

// curveFile is the name of a learning curve: experiment and seed.
var curveFile = regexp.MustCompile(`^(.+)-[1-9][0-9]*\.csv$`)

// removeOthers removes the files that [Write] could have written from other records. It knows them by their exact names.
func (p *Profile) removeOthers(out output) error {
	names := []string{ClaimsFile, PageFile, claimsCSV, decodingCSV, trialsCSV, scansCSV, gridCSV}
	drawn := []string{shrinkage}
	for setting := range experiments.Recipe {
		drawn = append(drawn, scanPrefix+setting)
	}
	for _, study := range p.suite {
		names = append(names, study.Name+".csv", study.Name+summarySuffix, study.Name+".md")
		for _, axis := range study.Grid {
			drawn = append(drawn, gridFigure(study, axis))
		}
		suffixes := []string{curvesSuffix, deltasSuffix}
		for _, f := range sweepsFigures {
			suffixes = append(suffixes, f.suffix)
		}
		for i := range 20 { // more trainings than anyone has at several widths
			suffixes = append(suffixes, widthsSuffix(i))
		}
		for _, suffix := range suffixes {
			drawn = append(drawn, study.Name+"_"+suffix)
		}
	}
	for _, name := range drawn {
		names = append(names, record.FiguresFolder+"/"+name+".svg", record.FiguresFolder+"/"+name+".png")
	}
	curves, _ := os.ReadDir(filepath.Join(p.folder, curvesFolder)) // none where the folder cannot be read
	for _, entry := range curves {
		if match := curveFile.FindStringSubmatch(entry.Name()); match != nil {
			if _, _, err := p.suite.Experiment(match[1]); err == nil {
				names = append(names, curvesFolder+"/"+entry.Name())
			}
		}
	}
	return out.removeOthers(p.folder, names...)
}

// removeOthers removes the named files of a folder that the output does not have.
func (o output) removeOthers(folder string, names ...string) error {
	for _, name := range names {
		if _, written := o[name]; written {
			continue
		}
		if err := os.Remove(filepath.Join(folder, filepath.FromSlash(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a report without records: %w", err)
		}
	}
	return nil
}
