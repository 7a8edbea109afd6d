package report_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"ebsscgo/experiments"
	"ebsscgo/internal/catalogue"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/plot"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
	"ebsscgo/internal/report"
	"ebsscgo/internal/safefile"
)

// all are the studies of profile quick.
var all = []string{"table", "unroll", "unroll-both", "unroll-chosen", "decoding", "residuals",
	"ablations", "optimizer", "fit", "width", "unroll-budget", "unroll-conv"}

// The same records give the same bytes: written twice, and in another folder in another order.
func TestSameBytes(t *testing.T) {
	results, elsewhere := t.TempDir(), t.TempDir()
	fill(t, results, stepped, nil, all...)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	fill(t, elsewhere, stepped, nil, backwards...)
	first := write(t, results)
	require.Equal(t, first, write(t, results))
	require.Equal(t, first, write(t, elsewhere))
	// The manifest lists them all, and is sorted.
	var listed []string
	for line := range strings.Lines(first["manifest.txt"]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		require.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(first[name]))), sum)
		listed = append(listed, name)
	}
	require.Equal(t, slices.Sorted(maps.Keys(first)),
		slices.Sorted(slices.Values(append(listed, "manifest.txt"))))
	require.True(t, slices.IsSorted(listed))
	// Each file is linked or shown, and each link leads to a file.
	linked := map[string]bool{report.File: true, "manifest.txt": true}
	links := regexp.MustCompile(`\]\(([^)]*)\)`)
	for _, link := range links.FindAllStringSubmatch(first[report.File], -1) {
		require.Contains(t, first, link[1])
		linked[link[1]] = true
	}
	require.Len(t, linked, len(first))
}

// The committed reports and the README's table follow from the committed records.
func TestCommittedNumbers(t *testing.T) {
	const project = "../.."
	results, folders, loaded := filepath.Join(t.TempDir(), "results"),
		map[string]experiments.Profile{}, map[string]*report.Results{}
	require.NoError(t, os.CopyFS(results, os.DirFS(filepath.Join(project, "results"))))
	recorded, err := filepath.Glob(filepath.Join(results, "*", record.Folder))
	require.NoError(t, err)
	for _, path := range recorded {
		folder := filepath.Base(filepath.Dir(path))
		name, _, _ := strings.Cut(folder, "-")
		folders[folder] = profile(t, name)
	}
	_, err = report.WriteAll(t.Context(), results, folders)
	require.NoError(t, err)
	for folder, of := range folders {
		loaded[folder], err = report.Load(results, folder, of)
		require.NoError(t, err)
		committed, now := files(t, filepath.Join(project, "results", folder)),
			files(t, filepath.Join(results, folder))
		require.Equal(t, slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(committed)),
			"run ebssc report")
		for name := range now {
			require.True(t, now[name] == committed[name],
				"results/%s/%s is of other records: run ebssc report", folder, name)
		}
	}
	emptied := filetest.Read(t, filepath.Join(project, "README.md"))
	for _, mark := range []string{"differences", "claims"} {
		before, rest, begins := strings.Cut(emptied, "<!-- "+mark+" -->\n")
		_, after, ends := strings.Cut(rest, "<!-- /"+mark+" -->")
		require.True(t, begins && ends, "README.md lacks the marks of %s", mark)
		emptied = before + "<!-- " + mark + " -->\n<!-- /" + mark + " -->" + after
	}
	readme := filepath.Join(filepath.Dir(results), "README.md")
	filetest.Write(t, readme, emptied)
	require.NoError(t, report.WriteAnswer(filepath.Join(filepath.Dir(results), "mine"), nil))
	require.Equal(t, emptied, filetest.Read(t, readme), "mine is another's folder")
	require.NoError(t, report.WriteAnswer(results, loaded))
	for _, name := range []string{"README.md", "results/classifier.csv", "results/classifier.svg"} {
		committed := filetest.Read(t, filepath.Join(project, name))
		now := filetest.Read(t, filepath.Join(filepath.Dir(results), name))
		require.True(t, now == committed, "%s is of other records: run ebssc report", name)
	}
	require.NoError(t, report.WriteAnswer(results, nil)) // as after a new version
	require.NotContains(t, filetest.Read(t, readme), "| all steps |")
}

// The answer stands first: before the first heading below the title. Each number of a table for
// readers stands in a CSV file.
func TestTheAnswerIsFirst(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "unroll", "table")
	written := write(t, results)
	row, difference := cells(t, written["table.csv"])[4], cells(t, written["differences.csv"])[4]
	require.Equal(t, []string{"ssc-ebc67", "26", "5", "9.23", "3.2M", "5"},
		[]string{row["experiment"], row["test_err"], row["test_err_n"], row["paper_test_err"],
			row["paper_parameters"], row["planned_seeds"]})
	require.Equal(t, []string{"ssc-ebc67", "relu-lc7", "-2.17", "-4", "5"},
		[]string{difference["experiment"], difference["base"], difference["paper"], difference["here"],
			difference["seeds"]})
	require.Len(t, cells(t, written["runs.csv"]), 25+5*3)
	require.Len(t, cells(t, written["curves.csv"]), 25*4+5*3*20)
	answer, rest, _ := strings.Cut(written[report.File], "\n## ")
	require.Contains(t, answer, "| all steps: SSC+EBC₆₋₇ − ReLU+LC₇ | **−2.17 (−3.01 to −1.33)** | **−4.00 (")
	require.Contains(t, answer, "](figures/differences.svg)")
	require.Contains(t, answer, "1000 training and 200 test images")
	require.Less(t, strings.Index(rest, "figures/curves.svg"),
		strings.Index(rest, "figures/unroll.svg"))
	smoke, err := report.Load(results, "smoke", profile(t, "smoke")) // has no records
	require.NoError(t, err)
	both := load(t, results).Differences(study(t, "table"), smoke).Markdown()
	require.Contains(t, both,
		"| ours, profile quick: width 16, 4 epochs, 5 seeds | ours, profile smoke: width 4, 4 epochs, 0 of 1 seed |")
	require.Contains(t, both, "| all steps: SSC+EBC₆₋₇ − ReLU+LC₇ | **−2.17 (−3.01 to −1.33)** | **−4.00 (")
	few := t.TempDir()
	fill(t, few, stepped, func(r *record.Record) bool { return r.Run.Seed < 5 }, "table")
	page := write(t, few)[report.File]
	require.Regexp(t,
		`\| all steps: SSC\+EBC₆₋₇ − ReLU\+LC₇ \| \*\*−2\.17 [^|]+\*\* \| −4\.0\d \([^|]+\), n = 4 \|`,
		page, "seeds are missing: they are counted, and nothing is bold")
	require.Regexp(t, "\\| `proposed` \\| test error, points: SSC\\+EBC₆₋₇ − ReLU\\+LC₇ "+
		`\| −4\.0\d \([^|]+\), n = 4 \| below 0 \|`, page)
	require.Equal(t, 1, strings.Count(page, "The paper's intervals are over its test images."))
	fill(t, few, stepped, nil, "fashion") // the paper has none of it
	require.NotContains(t, load(t, few).Differences(study(t, "fashion")).Markdown(), "paper")
}

// Figures say what they are of. On a page, 800 pixels wide, no text is smaller than 11 pixels, and
// none is cut off.
func TestFigures(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, func(r *record.Record) bool {
		return r.Run.Seed == 1 || r.Run.Seed < 4 && r.Run.Experiment != "ssc-ebc67"
	}, all...)
	figures, written := 0, write(t, results)
	page := written[report.File]
	for name, content := range written {
		if filepath.Ext(name) != ".svg" {
			continue
		}
		var width, height float64
		_, err := fmt.Sscanf(regexp.MustCompile(`viewBox="[^"]*"`).FindString(content),
			`viewBox="0 0 %g %g"`, &width, &height)
		require.NoError(t, err)
		upright := regexp.MustCompile(`rotate\(90\)">\s*<text[^<]*`).ReplaceAllString(content, "")
		texts := regexp.MustCompile(`<text x="([^"]*)"[^>]*font-size:(\d+)px">([^<]*)`)
		for _, text := range texts.FindAllStringSubmatch(upright, -1) {
			x, size := parsed(t, text[1]), parsed(t, text[2])
			require.GreaterOrEqual(t, size*min(800/width, 4.0/3), 11.0, "%s: %s", name, text[3])
			style := plot.Plot("", "", "").Title.TextStyle
			style.Font.Size = vg.Length(size)
			require.True(t, x >= 0 && x+float64(style.Width(text[3])) <= width, "%s cuts off %s", name,
				text[3])
		}
		figures++
		require.Equal(t, 1, strings.Count(page, "("+name+")"), "%s is shown once", name)
		require.Regexp(t, ` at quick</text>`, content)
		for _, title := range regexp.MustCompile(`font-size:13px">([^<]*)`).FindAllStringSubmatch(content,
			-1) {
			require.Less(t, len([]rune(title[1])), 80, "titles are short")
		}
	}
	require.Equal(t, 20, figures)
	scales := regexp.MustCompile(`(\S+) at quick: width [\d to]+, [\d to]+ epochs, ` +
		`((1 to )?3 of 5|3) seeds, (100 to )?1000 training and 200 test images of`)
	said := map[string]bool{}
	for _, scale := range scales.FindAllStringSubmatch(page, -1) {
		said[scale[1]] = true
	}
	require.ElementsMatch(t, all, slices.Collect(maps.Keys(said)), "each study says its scale")
}

// A record belongs to a row if its run is planned, whatever its record says of itself. All others
// are trials.
func TestTrialsEnterNoTable(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "table")
	before := write(t, results)
	trials := []experiments.Overrides{{Epochs: 3}, {Width: 8}, {HeldOut: 100, Seeds: 1},
		{Set: "crop=0"}, {Images: 500}}
	for _, o := range trials {
		save(t, results, recordtest.New(t, "ssc-ebc67", "quick", 1, o))
	}
	save(t, results, recordtest.New(t, "ssc-ebc67", "quick", 6, experiments.Overrides{Seeds: 6}))
	old := recordtest.New(t, "relu-lc7", "quick", 1, experiments.Overrides{Seeds: 1})
	old.Run.Version--
	save(t, results, old)
	after := write(t, results)
	for _, name := range []string{"table.csv", "differences.csv", "claims.csv", "decodings.csv",
		"figures/curves.svg", "figures/differences.svg"} {
		require.Equal(t, before[name], after[name], name)
	}
	listed := 0
	for _, row := range cells(t, after["runs.csv"]) {
		if row["trial"] == "true" {
			listed++
		}
	}
	require.Equal(t, len(trials)+2, listed)
	_, section, _ := strings.Cut(after[report.File], "## Trials")
	for _, differs := range []string{"--epochs 3", "--width 8", "--held-out 100", `--set "crop=0"`,
		"--images 500", "--seeds 6", "not planned"} {
		require.Contains(t, section, "`"+differs+"`")
	}
	// The same run, planned by a command with flags, is the profile's own.
	again := recordtest.New(t, "relu-lc7", "quick", 2, experiments.Overrides{Seeds: 2})
	save(t, results, again)
	p := load(t, results)
	require.False(t, p.Trial(p.Records[again.Run.ID()]))
}

// Rows without all seeds say so; rows without any are empty, and a study without any record is left
// out. A row that cannot be trained hides no other.
func TestMissingSeeds(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, func(r *record.Record) bool {
		return r.Run.Experiment == "relu-lc7" || r.Run.Experiment == "crelu-lc7" && r.Run.Seed > 2
	}, "table")
	p := load(t, results)
	require.Len(t, p.Studies, 1)
	text := p.Table(study(t, "table")).Text()
	require.Contains(t, text, "3 of 5\n")
	require.Contains(t, text, "0 of 5\n")
	require.Empty(t, p.Table(study(t, "unroll")).Rows)
	require.NotContains(t, write(t, results)[report.File], "unroll")
	difference, _ := p.Difference("crelu-lc7", "relu-lc7")
	require.Equal(t, 3, difference.N, "seeds that both have")
	table := &catalogue.All[0]
	defer func(rows []experiments.Experiment) { table.Experiments = rows }(table.Experiments)
	draft := func(h *experiments.Hyper) { h.Batch = 1 << 20 }
	table.Experiments = append([]experiments.Experiment{{Name: "draft",
		Architecture: table.Experiments[0], Change: draft}}, table.Experiments...)
	require.Contains(t, load(t, results).Table(*table).Text(), "3 of 5\n")
}

// A damaged record or picture in one folder leaves the reports of all as they are.
func TestAllIsLoadedFirst(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "table")
	both := map[string]experiments.Profile{"quick": profile(t, "quick"),
		"quick-mnist32": profile(t, "quick")}
	r := recordtest.New(t, "ssc-ebc67", "quick", 1, experiments.Overrides{})
	r.Decodings.Figures = []record.Figure{{File: "missing.png",
		SHA256: fmt.Sprintf("%x", sha256.Sum256(nil))}}
	_, err := r.Save(filepath.Join(results, "quick-mnist32", record.Folder))
	require.NoError(t, err)
	_, err = report.WriteAll(t.Context(), results, both)
	require.ErrorContains(t, err, "missing.png")
	damaged := filepath.Join(results, "quick-mnist32", record.Folder, "relu-lc7-1-0123456789.json")
	filetest.Write(t, damaged, "")
	_, err = report.WriteAll(t.Context(), results, both)
	require.ErrorContains(t, err, damaged)
	require.Empty(t, files(t, results))
}

// What records say does nothing on a page, in a spreadsheet or in a terminal, and cannot leave its
// cell.
func TestHostileRecords(t *testing.T) {
	results := t.TempDir()
	const hostile = "=cmd|'/C calc'!A0 <script>alert(1)</script> $x$ `**b**` [a](b)"
	fill(t, results, stepped, func(r *record.Record) bool {
		r.Command, r.Origin.Commit, r.Origin.CPU, r.Run.Dataset.Name = hostile, hostile, hostile, hostile
		if picture(t, results, r, "a) <script> ![b](c.png"); r.Run.Seed == 1 {
			r.Decodings.Figures[0].Title = hostile
		}
		return true
	}, "decoding")
	written := write(t, results)
	for _, command := range []string{"<script", " $x$", " [a](b)", "**b**`", "![b]"} {
		require.NotContains(t, written[report.File], command)
	}
	require.Equal(t, 2, strings.Count(written[report.File], "!["),
		"the chart of decodings and the picture")
	for _, row := range cells(t, written["runs.csv"]) {
		require.Equal(t, "'"+hostile, row["command"])
		require.Equal(t, "'"+hostile, row["dataset"])
	}
}

// Files in place of reports that are pipes, devices or huge are replaced or left, and do not make
// the program wait.
func TestHostileFiles(t *testing.T) {
	results := t.TempDir()
	folder := filepath.Join(results, "quick")
	fill(t, results, stepped, func(r *record.Record) bool {
		picture(t, results, r, "decoded.png")
		return r.Run.Seed == 1
	}, "decoding")
	defer time.AfterFunc(time.Minute, func() { panic("it waits") }).Stop()
	want := write(t, results)
	for _, name := range []string{"manifest.txt", report.File, filepath.Join("figures", "decoded.png"),
		filepath.Join(record.Folder, "report.lock")} {
		path := filepath.Join(folder, name)
		content := filetest.Read(t, path)
		for kind, make := range map[string]func() error{
			"pipe":   func() error { return syscall.Mkfifo(path, 0o644) },
			"device": func() error { return os.Symlink("/dev/zero", path) },
			"huge": func() error {
				return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40))
			},
		} {
			require.NoError(t, os.Remove(path))
			require.NoError(t, make())
			_, err := writeAll(t, results)
			needed := strings.HasSuffix(name, ".png") ||
				strings.HasSuffix(name, ".lock") && kind != "huge"
			if needed {
				require.ErrorContains(t, err, path, kind)
				require.NotContains(t, err.Error(), "\n")
				require.NoError(t, os.Remove(path))
				filetest.Write(t, path, content)
			} else {
				require.NoError(t, err, kind)
			}
			require.Equal(t, want, files(t, folder), "%s in place of %s", kind, name)
		}
	}
}

// A folder of records that is a link to one of the kernel's or of devices is no folder without
// records, and a record there is not waited for.
func TestFoldersOfTheKernel(t *testing.T) {
	results := t.TempDir()
	runs := filepath.Join(results, "quick", record.Folder)
	require.NoError(t, os.Mkdir(filepath.Dir(runs), 0o755))
	defer time.AfterFunc(time.Minute, func() { panic("it waits") }).Stop()
	for _, target := range []string{"/proc/self", "/sys", "/dev"} {
		require.NoError(t, os.Symlink(target, runs))
		_, err := report.LoadAll(results, "quick")
		require.ErrorContains(t, err, "reading records: list "+runs, target)
		require.ErrorContains(t, err, "name another folder with --results")
		_, err = report.LoadAll(target, "")
		require.ErrorContains(t, err, "reading results: list "+target)
		require.NoError(t, os.Remove(runs))
	}
	r := recordtest.New(t, "ssc-lc7", "quick", 1, experiments.Overrides{})
	path := record.Path(runs, r.Run.ID())
	require.NoError(t, os.Mkdir(runs, 0o755))
	require.NoError(t, os.Symlink("/proc/self/maps", path))
	_, err := report.LoadAll(results, "quick")
	require.ErrorContains(t, err, path+" is refused: file: ")
	require.NotContains(t, err.Error(), "\n")
}

// Who waits while another process writes the reports stops with the context.
func TestWaitingEnds(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "unroll")
	path := filepath.Join(results, "quick", record.Folder, "report.lock")
	lock, held, err := safefile.TryLock(path)
	require.NoError(t, err)
	require.True(t, held)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	folders := map[string]experiments.Profile{"quick": profile(t, "quick")}
	_, err = report.WriteAll(ctx, results, folders)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoFileExists(t, filepath.Join(results, "quick", report.File))
	require.NoError(t, lock.Close())
	_, err = writeAll(t, results)
	require.NoError(t, err)
}

// One folder has one data set for each kind of images, of one profile.
func TestFoldersAreRefused(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "unroll") // MNIST
	one := save(t, results, recordtest.New(t, "relu-lc7", "quick", 1, experiments.Overrides{}))
	load(t, results)
	other := recordtest.New(t, "ssc-lc7", "quick", 1, experiments.Overrides{Epochs: 2})
	other.Run.Dataset.Name = "cifar10"
	two := save(t, results, other)
	_, err := report.Load(results, "quick", profile(t, "quick"))
	require.ErrorContains(t, err, one)
	require.ErrorContains(t, err, two)
	require.NotContains(t, err.Error(), "\n")
	_, err = report.Load(results, "quick", profile(t, "smoke"))
	require.ErrorContains(t, err, "profile")
}

// On images that are not the paper's its numbers do not stand beside ours, and no claim is judged.
func TestOtherImages(t *testing.T) {
	results := t.TempDir()
	for _, run := range []string{"relu-lc7", "crelu-lc7"} {
		r := recordtest.New(t, run, "quick", 1, experiments.Overrides{})
		r.Run.Dataset.Name = "mnist32"
		save(t, results, r)
	}
	written := write(t, results)[report.File]
	require.Contains(t, written, "in place of CIFAR-10")
	require.NotContains(t, written, "11.40")
	require.Equal(t, "other images", load(t, results).Claims(false)[0].Reason)
}

// Reports that no record supports any more are removed. Nothing else is: no file that the manifest
// does not list, none that was changed, none outside.
func TestManifest(t *testing.T) {
	results := t.TempDir()
	folder := filepath.Join(results, "quick")
	put := func(name, content string) string {
		filetest.Write(t, filepath.Join(folder, name), content)
		return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), name)
	}
	fill(t, results, stepped, nil, "table", "unroll")
	put("notes.md", "mine")
	first := write(t, results)
	unroll, err := filepath.Glob(filepath.Join(folder, record.Folder, "unroll-*.json"))
	require.NoError(t, err)
	for _, path := range unroll {
		require.NoError(t, os.Remove(path))
	}
	second := write(t, results)
	require.Contains(t, first, "unroll.csv")
	require.NotContains(t, second, "unroll.csv")
	require.NotContains(t, second, "figures/unroll.svg")
	require.Contains(t, second, "notes.md")

	outside := filepath.Join(results, "outside.csv")
	filetest.Write(t, outside, "x")
	require.NoError(t, os.Symlink(outside, filepath.Join(folder, "link.csv")))
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte("x")))
	lines := put("gone.csv", "x") + strings.Replace(put("changed.csv", "x"), sum[:4], "0000", 1) +
		put("networks/a.npz", "x") + put("checkpoints/a", "x") + put("runs/a", "x") +
		put("deep/er/a.csv", "x") + "nonsense\n"
	for _, name := range []string{"../outside.csv", "figures/../../outside.csv", outside, "link.csv",
		"", "..", "figures"} {
		lines += sum + "  " + name + "\n"
	}
	pipe, huge := filepath.Join(folder, "pipe.csv"), filepath.Join(folder, "huge.csv")
	require.NoError(t, errors.Join(syscall.Mkfifo(pipe, 0o644), os.WriteFile(huge, nil, 0o644),
		os.Truncate(huge, 1<<40)))
	put("manifest.txt", second["manifest.txt"]+lines+sum+"  pipe.csv\n"+sum+"  huge.csv\n")
	_, err = writeAll(t, results)
	require.NoError(t, errors.Join(err, os.Remove(pipe), os.Remove(huge)))
	third := files(t, folder)
	require.NotContains(t, third, "gone.csv")
	for _, kept := range []string{"changed.csv", "networks/a.npz", "checkpoints/a", "deep/er/a.csv",
		"link.csv", "notes.md"} {
		require.Contains(t, third, kept)
	}
	require.FileExists(t, outside)
	require.FileExists(t, filepath.Join(folder, "runs", "a"))

	// Without records no report is left.
	require.NoError(t, os.RemoveAll(filepath.Join(folder, record.Folder)))
	require.NoError(t, os.Mkdir(filepath.Join(folder, record.Folder), 0o755))
	last := write(t, results)
	require.NotContains(t, last, report.File)
	require.NotContains(t, last, "manifest.txt")
	require.Contains(t, last, "notes.md")
}

// Pictures of the first seed are shown if they are the recorded ones. Those of a network that
// learned nothing are not shown.
func TestPictures(t *testing.T) {
	results := t.TempDir()
	shown := func(train float64) map[string]string {
		require.NoError(t, os.RemoveAll(filepath.Join(results, "quick")))
		errors := func(experiments.Run) (float64, float64) { return train, 30 }
		fill(t, results, errors, func(r *record.Record) bool {
			picture(t, results, r, fmt.Sprintf("decoded-%d.png", r.Run.Seed))
			return true
		}, "decoding")
		return write(t, results)
	}
	require.NotContains(t, shown(86)[report.File], "decoded-")
	written := shown(20)
	require.Contains(t, written[report.File], "](figures/decoded-1.png)")
	require.NotContains(t, written[report.File], "decoded-2.png")
	require.NotContains(t, written["manifest.txt"], "decoded")
	first := filepath.Join(results, "quick", "figures", "decoded-1.png")
	filetest.Write(t, first, "other")
	_, err := writeAll(t, results)
	require.ErrorContains(t, err, "decoded-1.png")
}

// The list of runs says which networks are here, and what sets trials apart.
func TestRuns(t *testing.T) {
	results := t.TempDir()
	fill(t, results, stepped, nil, "ablations")
	r := recordtest.New(t, "ssc-lc7-narrow-beta-0.01", "quick", 2,
		experiments.Overrides{HeldOut: 100, Epochs: 2, Set: "muon_rate=0.02;crop=0"})
	save(t, results, r)
	filetest.Write(t, filepath.Join(results, "quick", "networks", r.Run.ID()+".npz"), "")
	tables := load(t, results).Runs()
	require.Len(t, tables, 2)
	rows := len(study(t, "ablations").Experiments)
	require.Equal(t, 3+3*rows, strings.Count(tables[0].Text(), "\n"),
		"titles in three lines, a line a run")
	require.NotContains(t, tables[0].Text(), "here")
	trials := tables[1].Text()
	require.Contains(t, trials, `trials: --epochs 2 --held-out 100 --set "muon_rate=0.02;crop=0"`)
	require.Regexp(t, r.Run.ID()+` .* here\n`, trials)

	// A run that its change alone makes possible: a batch of the profile's needs more images.
	few := experiments.Overrides{Images: 20, Set: "batch_size=8"}
	save(t, results, recordtest.New(t, "relu-lc7", "quick", 1, few))
	table, _, err := catalogue.All.Experiment("relu-lc7")
	require.NoError(t, err)
	require.Len(t, load(t, results).TrialsOf(table, few).Rows, 1)
}

// Every profile can be reported from any of its studies alone, trained or not.
func TestEachStudyAlone(t *testing.T) {
	for _, p := range experiments.Profiles {
		for _, s := range catalogue.All.ForProfile(p) {
			results := t.TempDir()
			runs, err := experiments.Plan(s, p, recordtest.Dataset(s.Images), experiments.Overrides{})
			require.NoError(t, err)
			_, err = recordtest.Made(runs[0], 20, 30).Save(filepath.Join(results, "any", record.Folder))
			require.NoError(t, err)
			folders := map[string]experiments.Profile{"any": p}
			all, err := report.WriteAll(t.Context(), results, folders)
			require.NoError(t, err)
			require.Len(t, all["any"].Studies, 1)
			require.Contains(t, all["any"].Table(s).Text(), runs[0].Profile)
		}
	}
	empty, err := writeAll(t, t.TempDir())
	require.NoError(t, err)
	require.Empty(t, empty["quick"].Records)
}

// A table of records from several processors names them, and which runs each trained.
func TestProcessors(t *testing.T) {
	results := t.TempDir()
	table := study(t, "unroll")
	change := func(cpu string) func(*record.Record) bool {
		return func(r *record.Record) bool {
			if r.Run.Seed == 2 {
				r.Origin.CPU = cpu
			}
			return r.Run.Experiment == "unroll-1"
		}
	}
	fill(t, results, stepped, change("made 8480+"), "unroll")
	require.NotContains(t, load(t, results).Table(table).Markdown(), "several processors")
	fill(t, results, stepped, change("other 9654"), "unroll")
	require.Contains(t, load(t, results).Table(table).Markdown(), "which round differently: "+
		"made 8480+ (unroll-1 seed 1, unroll-1 seed 3); other 9654 (unroll-1 seed 2).")
}
