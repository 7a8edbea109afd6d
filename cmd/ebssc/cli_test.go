package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/device"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
)

// call carries out a command line in this process.
func call(args ...string) (status int, stdout, stderr string) {
	var out, messages bytes.Buffer
	status = execute(&out, &messages, args)
	return status, out.String(), messages.String()
}

// refused carries out a command line that ends with status 1 and one line of error, and returns the
// line.
func refused(t *testing.T, args ...string) string {
	status, _, stderr := call(args...)
	require.Equal(t, 1, status, args)
	require.Equal(t, 1, strings.Count(stderr, "\n"), "%s: %s", args, stderr)
	return stderr
}

// write writes made records of a row at profile quick, one a seed, with those numbers of wrong
// predictions. It returns the last ID.
func write(t *testing.T, results, experiment string, wrong ...int) (id string) {
	for i, count := range wrong {
		r := recordtest.New(t, experiment, "quick", i+1, experiments.Overrides{})
		predictions := []byte(r.Labels)
		for i := range count {
			predictions[i] = '0' + (predictions[i]-'0'+1)%10
		}
		r.Predictions = string(predictions)
		r.TestErr = r.ErrorRate()
		r, err := r.Save(filepath.Join(results, "quick", record.Folder))
		require.NoError(t, err)
		id = r.ID
	}
	return id
}

// A network of own pictures is used if it is named or the only one. Among networks of other classes
// nobody chooses but the user.
func TestNetworksOfOwnPictures(t *testing.T) {
	made := t.TempDir()
	ids := map[string]string{"quick": write(t, made, "ssc-ebc67", 30)}
	for i, name := range []string{"own-flowers", "own-cars"} {
		set := experiments.Dataset{Name: name, Train: 100, Test: 20 + i}
		r := recordtest.Own(t, "ssc-ebc67", set, "a", "b")
		r, err := r.Save(filepath.Join(made, "quick-"+name, record.Folder))
		require.NoError(t, err)
		ids[name] = r.ID
	}
	says := func(flags ...string) string { // of a network whose file is missing
		args := []string{"classify", "../../docs/cat.jpg", "--backend", "none", "--results", made}
		return refused(t, append(args, flags...)...)
	}
	several := says("--run", "ssc-ebc67")
	for folder, id := range map[string]string{"quick": ids["quick"], "quick-own-cars": ids["own-cars"],
		"quick-own-flowers": ids["own-flowers"]} {
		require.Contains(t, several, id+" of "+folder)
	}
	require.Contains(t, says("--run", ids["own-cars"]), ids["own-cars"])
	require.Contains(t, says("--run", "ssc-ebc67", "--pictures", "/no/Flowers"), ids["own-flowers"])
	require.Contains(t, says("--pictures", "/no/Flowers"), ids["own-flowers"])
	require.Contains(t, says(), ids["quick"], "the default is of CIFAR-10")
	require.Contains(t, says("--pictures", "/no/trees"), "no such network is in "+made+
		"; to train one: ebssc run table --pictures '/no/trees' --results ")
}

// Bad input ends in one line that says what to do, with status 1, before a backend starts and
// before anything is downloaded or written.
func TestBadInputIsOneLine(t *testing.T) {
	empty, made, bad, loop, unread := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	cat := filepath.Join(t.TempDir(), "cat.jpg")
	t.Chdir(empty) // where results would go
	t.Setenv("GOMLX_BACKEND", "none")
	filetest.Write(t, cat, "")
	require.NoError(t, os.Mkdir(filepath.Join(loop, "quick"), 0o755))
	// which nobody can read, not even root
	require.NoError(t, os.Symlink(record.Folder, filepath.Join(loop, "quick", record.Folder)))

	pictures := t.TempDir() // that nobody can read, of many classes
	for file := range 1200 {
		filetest.Write(t, filepath.Join(pictures, fmt.Sprintf("%d/%d.png", file/4, file)), "")
	}
	id, ebc := write(t, made, "relu-lc7", 30), write(t, made, "ssc-ebc67", 30)
	damaged := write(t, bad, "relu-lc7", 30)
	filetest.Write(t, record.Path(filepath.Join(bad, "quick", record.Folder), damaged), "{}")
	hidden := filepath.Join(unread, "quick", record.Folder, id+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(hidden), 0o755))
	require.NoError(t, os.Symlink(id+".json", hidden)) // which nobody can read either
	for _, c := range []struct{ args, says string }{
		{"tabel", `unknown command "tabel" for ebssc`},
		{"run tabel --profile smoke", "did you mean table?"},
		{"run --profile smoke", "unknown flag: --profile"},
		{"run table --bakend cpu", "did you mean --backend?"},
		{"run table --only crelu-lc", "did you mean crelu-lc7?"},
		{"run table --data=", "--data"},
		{"run table --data=", "it is empty"},
		{"run table --only unroll-1", "ebssc run unroll --only unroll-1"},
		{"run table --only=", "--only names no experiment"},
		{"run table --profile huge", "choose from smoke"},
		{"data fetch cifar", "choose from CIFAR-10, MNIST"},
		{"classify x.png --run nonesuch", "that ebssc list names"},
		{"run unroll --profile weekend", "profile weekend has no study unroll"},
		{"run table --set dropuot=1", "did you mean dropout?"},
		{"run table --set beta=-1", "out of range"},
		{"run table --set beta=0.1;beta=0.2", "beta twice"},
		{"run table --set beta=0.1 --set crop=0 --set beta=0.2", "beta twice"},
		{"run table --set beta=0.1\u200b", "write it in one line"},
		{"run table --set beta=" + strings.Repeat("0", 1000), "at most 1000 characters"},
		{"run table --set batch_size=60000", "batch_size=60000 does not fit"},
		{"run table --set batch_size=60000", "or --set batch_size=16384"},
		{"run table --held-out 60000", "--held-out 60000"},
		{"run table --seeds 0", "--seeds 0 is out of range"},
		{"run table --shard 4/3", "such as 3/10"},
		{"run table --pictures /does/not/exist", "/does/not/exist"},
		{"run table --pictures " + empty, "folders of classes: 0"},
		{"run table --side 20", "name a folder"},
		{"run table --grey", "name a folder"},
		{"run table --pictures " + pictures + " --data " + empty, "leave one out"},
		{"run table --pictures " + pictures + " --side 65", "16 to 64"},
		{"run table --only relu-lc7 --pictures " + pictures, `backend "none"`},
		{"run table --only relu-lc7 --backend go --pictures " + pictures, "no training picture left"},
		{"run table --pictures " + pictures + " --width 128 --set batch_size=300",
			"ssc-ebc67 with 300 classes needs about"},
		{"run table --backend none --data /does/not/exist --results " + made, "/does/not/exist"},
		{"run table --backend none --results /dev/null", "/dev/null"},
		{"run table --backend none --results " + bad, "is refused"},
		{"run table --backend none --results " + loop, "symbolic links"},
		{"run table --results=", "--results\" flag: it is empty"},
		{"run unroll --results /proc/none", "give another one with --results"},
		{"runs --results " + unread, "make it readable to you"},
		{"run table --results=~/out", "write $HOME"},
		{"run table --data=~/x", "write $HOME"},
		{"report --results=~", "write $HOME"},
		{"runs", "no runs are recorded at profile quick in " + empty + "/results: ebssc run table"},
		{"classify x.png", "no such network is in " + empty + "/results;"},
		{"classify x.png --results (x)", "--results '" + empty + "/(x)'"},
		{"decode --out=~/x.png", "write $HOME"},
		{"run table --backend none --results " + made + " --data " + empty, "found no CIFAR-10"},
		{"run unroll --backend none --results " + made + " --data " + empty, "there: nothing"},
		{"run table --results " + made + "/quick", "is the folder of one profile"},
		{"doctor --data /does/not/exist", "no run can begin without a backend"},
		{"report --results /does/not/exist", "/does/not/exist"},
		{"report --results " + empty, "no runs are recorded in " + empty},
		{"runs --results " + made + " --profile paper", "no runs are recorded at profile paper"},
		{"runs none --results " + made, "no such runs are recorded at profile quick"},
		{"compare " + made, "accepts 2 arg(s), received 1; usage: ebssc compare "},
		{"classify", "usage: ebssc classify PICTURE…"},
		{"doctor cifar", "usage: ebssc doctor"},
		{"compare " + made + " " + made, "no folder of a profile's results"},
		{"compare " + made + "/quick " + made + "/weekend",
			made + "/weekend is no folder of a profile's results"},
		{"decode --results " + empty, "to train one: ebssc run table --results " + empty},
		{"decode --backend none --results " + made, "ebssc run relu-lc7 --profile quick"},
		{"decode --out /dev/null --results " + made, "--out /dev/null"},
		{"decode --run " + id + " --image 10000 --results " + made, "the run has 200 test images"},
		{"classify " + cat + " " + cat + " --results " + made + " --out " + made + " --run " + ebc,
			"would both give " + filepath.Join(made, "cat_hypotheses.png")},
		{"classify \x1b[31m.jpg --results " + made + " --run " + ebc, `\x1b[31m.jpg`},
		{"classify " + cat + " --run " + id + " --results " + made,
			"cat.jpg: not a PNG, JPEG, GIF, WebP"},
		{"classify " + cat + " --pictures " + pictures + " --data " + empty, "leave one out"},
		{"classify /no/cat.jpg --run " + id + " --results " + made, "/no/cat.jpg: no such file"},
	} {
		require.Contains(t, refused(t, strings.Fields(c.args)...), c.says, c.args)
	}
	entries, err := os.ReadDir(empty)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// doctor says what a named folder lacks, and not that a download would help.
func TestDoctorNamesTheFolder(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "none")
	folder := t.TempDir()
	_, stdout, _ := call("doctor", "--data", folder)
	stdout = strings.Join(strings.Fields(stdout), " ") // without its line breaks
	require.Contains(t, stdout, folder+": found no CIFAR-10, looked for cifar-10-batches-bin/")
	require.Contains(t, stdout, folder+": found no MNIST, looked for train-images-idx3-ubyte")
	require.NotContains(t, stdout, "data fetch")
}

// The help of run has the hyperparameters of its profile. list shows each row with the paper's
// numbers and its parameters, and what is recorded. runs says in what a trial differs, and the
// command of a run.
func TestLists(t *testing.T) {
	results := t.TempDir()
	id := write(t, results, "relu-lc7", 30)
	status, stdout, stderr := call("list", "--profile", "paper", "--results", results)
	require.Zero(t, status, stderr)
	for _, text := range []string{"ssc-ebc67", "SSC+EBC₆₋₇", "3194400", "3.2M", "9.23"} {
		require.Contains(t, stdout, text)
	}
	_, stdout, _ = call("list", "--results", results)
	require.Regexp(t, `table +\d+ +1 in 12s `, stdout)

	long := experiments.Overrides{HeldOut: 100, Set: "energy_scale=30;class_spread=0.25"}
	trial := recordtest.New(t, "unroll-chosen-0", "quick", 1, long)
	_, err := trial.Save(filepath.Join(results, "quick", record.Folder))
	require.NoError(t, err)
	_, stdout, _ = call("runs", "--results", results)
	require.Contains(t, stdout, "trials: --held-out 100")
	_, _, stderr = call("runs", "--results", results, "--profile", "smoke")
	require.Contains(t, stderr, "choose --profile quick")
	_, _, stderr = call("runs", id, "--results", results, "--profile", "smoke")
	require.Contains(t, stderr, "choose --profile quick")
	_, _, stderr = call("runs", "none", "--results", results)
	require.Contains(t, stderr, "ebssc runs lists them")
	linked := t.TempDir()
	require.NoError(t, os.Symlink(filepath.Join(results, "quick"), filepath.Join(linked, "quick")))
	_, stdout, _ = call("runs", "--results", linked)
	require.Contains(t, stdout, id, "a folder may lie elsewhere")
	_, stdout, _ = call("run", "table", "--profile", "paper", "--help")
	require.Contains(t, stdout, "batch_size=128 ")
	_, stdout, _ = call("runs", id, "--results", results)
	command := recordtest.New(t, "relu-lc7", "quick", 1, experiments.Overrides{}).Command
	require.Equal(t, fmt.Sprintf("%s --results '%s'\n", command, results), stdout)
}

// Each command has its help, also the one that cobra adds, in lines of 80 columns.
func TestHelp(t *testing.T) {
	for _, words := range []string{
		"completion", "completion bash", "help", "", "run", "run all", "run table", "run unroll-conv",
		"runs", "list", "report", "compare", "classify", "decode", "halve", "doctor", "data fetch",
	} {
		status, stdout, stderr := call(append([]string{"help"}, strings.Fields(words)...)...)
		require.Zero(t, status, "%s: %s", words, stderr)
		require.Contains(t, stdout, "Usage:", words)
		if !strings.HasPrefix(words, "completion ") { // cobra's text
			requireColumns(t, stdout)
		}
	}
	for _, command := range []string{"list", "runs"} {
		status, stdout, stderr := call(command, "--results", "../../results")
		require.Zero(t, status, stderr)
		requireColumns(t, stdout)
	}
}

// requireColumns requires that no line is longer than the terminal's.
func requireColumns(t *testing.T, text string) {
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), columns+len("\n"), line)
	}
}

// The manual's commands that stand behind a $ print what it says, from the project's folder.
func TestManual(t *testing.T) {
	manual, _, _ := strings.Cut(filetest.Read(t, "main.go"), "package main")
	t.Chdir("../..")
	command, printed, tried := "", "", 0
	for line := range strings.Lines(manual + "end") {
		line, code := strings.CutPrefix(line, "\t")
		next, isCommand := strings.CutPrefix(line, "$ ebssc ")
		if command != "" && (isCommand || !code) {
			_, stdout, stderr := call(strings.Fields(command)...)
			require.Equal(t, printed, stdout+stderr, command)
			command, printed, tried = "", "", tried+1
		}
		if isCommand {
			command = next
		} else if command != "" {
			printed += line
		}
	}
	require.Greater(t, tried, 3)
}

// A terminal that knows no commands, as in an editor, or a narrow one gets lines, as a file does.
func TestIsTerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal can be had here: ", err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	for width, wide := range map[uint16]bool{80: true, 79: false} {
		require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Row: 25, Col: width}))
		require.Equal(t, wide, isTerminal(terminal))
	}
	require.NoError(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 25, Col: 200}))
	t.Setenv("TERM", "dumb")
	require.False(t, isTerminal(terminal))
}

// Too little memory for all jobs is said before anything is trained.
func TestWarnOfMemory(t *testing.T) {
	var out bytes.Buffer
	warnOfMemory(&out, experiments.Profile{Name: "small", Memory: 1.0 / (1 << 20)}, 2)
	require.Empty(t, out.String())
	warnOfMemory(&out, experiments.Profile{Name: "large", Memory: 1 << 20}, 1)
	require.Regexp(t, `^warning: memory: \d+\.\d GiB; profile large needs up to 1048576.0 GiB; .*\n$`,
		out.String())
	out.Reset()
	warnOfMemory(&out, experiments.Profile{Name: "large", Memory: 1 << 20}, 2)
	require.Contains(t, out.String(), "profile large with 2 jobs needs up to 2097152.0 GiB")
}

// doctor says where records cannot name the commit, and what to do.
func TestDiagnoseProgram(t *testing.T) {
	known := device.Finding{What: "program", Status: device.OK, Detail: "commit 0123456789ab"}
	require.Equal(t, known, diagnoseProgram("0123456789ab"))
	unknown := diagnoseProgram("unknown")
	require.Equal(t, device.Warn, unknown.Status)
	require.Contains(t, unknown.Do, "./build.sh")
}

// Each of several pictures that cannot be read gets a line, and the last line counts them.
func TestSayUnread(t *testing.T) {
	one, two := errors.New("a: no"), errors.New("b: no")
	var out bytes.Buffer
	require.NoError(t, sayUnread(&out, nil, 1))
	require.EqualError(t, sayUnread(&out, []error{one}, 2), "a: no")
	require.Empty(t, out.String())
	require.ErrorContains(t, sayUnread(&out, []error{one, two}, 3), "2 of 3 pictures")
	require.Equal(t, "a: no\nb: no\n", out.String())
}

// The most probable class comes first: by scores 1 and 3, which are energies times 10.
func TestScores(t *testing.T) {
	out, run := new(bytes.Buffer), experiments.Run{}
	run.Network.Classifier, run.Hyper.EnergyScale = ebssc.EnergySum, 10
	printScores(out, run, []string{"cat", "dog"}, []float32{1, 3})
	require.Regexp(t, `(?s)dog +88\.1% +3\.00 +\+0\.3000\s.*cat +11\.9% +1\.00 +\+0\.1000`,
		out.String())
}

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What cannot be written is an error of each command, in one line.
func TestFullOutput(t *testing.T) {
	results := t.TempDir()
	write(t, results, "relu-lc7", 30)
	for _, args := range []string{"", "--help", "--version", "help run", "run table --help", "list",
		"runs", "report"} {
		var messages bytes.Buffer
		if !strings.Contains(args, "-") && args != "" && args != "help run" {
			args += " --results " + results
		}
		require.Equal(t, 1, execute(full{}, &messages, strings.Fields(args)), args)
		require.Equal(t, "ebssc: standard output: no space left on device\n",
			messages.String(), args)
	}
}

// --run takes an ID; or the name of an experiment, for its network here that errs least. Without it
// the best run on CIFAR-10 is meant. The network lies beside its record, whatever the record says.
func TestRunFlag(t *testing.T) {
	results, crafted := t.TempDir(), t.TempDir()
	folder := filepath.Join(results, "quick")
	write(t, results, "crelu-lc7", 20, 10) // the second has no network
	best, more, least := write(t, results, "crelu-lc7", 20), write(t, results, "relu-lc7", 60),
		write(t, results, "relu-lc7", 60, 30)
	for _, id := range []string{write(t, results, "unroll-1", 1), best, more, least} {
		filetest.Write(t, record.NetworkFile(folder, id), "no network")
	}
	for named, id := range map[string]string{"": best, "relu-lc7": least} {
		_, _, stderr := call("decode", "--run", named, "--results", results)
		require.Contains(t, stderr, record.NetworkFile(folder, id), named)
	}
	outside := recordtest.New(t, "ssc-lc7", "quick", 1, experiments.Overrides{})
	outside.Run.Dataset.Name = "../../outside"
	outside, err := outside.Save(filepath.Join(crafted, "quick", record.Folder))
	require.NoError(t, err)
	_, _, stderr := call("decode", "--run", outside.ID, "--results", crafted)
	require.Contains(t, stderr, record.NetworkFile(filepath.Join(crafted, "quick"), outside.ID))
}

// Two folders side by side: a row that got worse beyond the interval gives exit status 3, and one
// line that names it.
func TestCompare(t *testing.T) {
	results := t.TempDir()
	older, newer := filepath.Join(results, "old\x1b[31m", "quick"),
		filepath.Join(results, "new", "quick")
	write(t, filepath.Dir(older), "relu-lc7", 50, 52, 54)
	write(t, filepath.Dir(newer), "relu-lc7", 51, 52, 53)
	write(t, filepath.Dir(older), "crelu-lc7", 40, 41, 42)
	write(t, filepath.Dir(newer), "crelu-lc7", 60, 61, 62)
	status, stdout, stderr := call("compare", older, newer)
	require.Equal(t, 3, status, stderr)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Contains(t, stderr, "crelu-lc7")
	require.Regexp(t, `CReLU.* worse`, stdout)
	status, stdout, stderr = call("compare", newer, older)
	require.Zero(t, status, stderr)
	require.Regexp(t, `CReLU.* better`, stdout)
	require.Contains(t, stdout, `old\x1b[31m`, "no colours, nor other commands of a terminal")
	write(t, filepath.Dir(newer), "unroll-1", 1)
	t.Chdir(newer)
	_, stdout, _ = call("compare", older, ".")
	require.Contains(t, stdout, "study unroll is only in "+newer)
}

// rooms are the packages from the top of the house to its foundation. A package imports lower ones
// alone, as CONTRIBUTING.md says.
var rooms = []string{
	"cmd/ebssc", "notebooks/nb", "internal/pipeline", "internal/bench", "internal/report",
	"internal/stats", "internal/decode", "internal/train",
	"internal/record", "internal/dataset", "internal/device", "internal/plot", "internal/tensor",
	"internal/cache", "internal/safefile",
	"internal/quiet",
	"internal/catalogue", "ablations", "experiments", "ebssc", "ebssc/internal/ops",
}

// Imports run down the house and never up.
func TestImportsRunDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`,
		"ebsscgo/...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if strings.HasSuffix(words[0], "test") { // helpers of tests
			continue
		}
		place := slices.Index(rooms, strings.TrimPrefix(words[0], "ebsscgo/"))
		require.GreaterOrEqual(t, place, 0, "%s has no place in the house: see CONTRIBUTING.md", words[0])
		for _, imported := range words[1:] {
			if below, ok := strings.CutPrefix(imported, "ebsscgo/"); ok {
				require.Greater(t, slices.Index(rooms, below), place, "%s imports %s", words[0], imported)
			}
		}
	}
}

// Every file that a page links is there.
func TestLinks(t *testing.T) {
	const project = "../.."
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, pages := range []string{"*.md", "docs/*.md", "experiments/*/*.md", "results/*.md",
		"results/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(project, pages))
		require.NoError(t, err)
		for _, page := range found {
			for _, match := range link.FindAllStringSubmatch(filetest.Read(t, page), -1) {
				_, err := os.Stat(filepath.Join(filepath.Dir(page), match[1]))
				require.NoError(t, err, page)
			}
		}
	}
}
