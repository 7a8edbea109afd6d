package record_test

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ebsscgo/experiments"
	"ebsscgo/internal/filetest"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
)

// made makes a record of a small run, with a trace, or with decodings and a figure.
func made(t testing.TB, experiment string) record.Record {
	r := recordtest.New(t, experiment, "smoke", 1, experiments.Overrides{Images: 100})
	if r.Decodings != nil {
		r.Penalty, r.Seconds, r.Curve[0].BatchLoss = 1e38, 1.0/3, math.SmallestNonzeroFloat64
		r.Origin.CPU = " ~α₉<&>\\\""
		figure := record.Figure{File: "a.png", Title: "A <title> & more", SHA256: r.Network.SHA256}
		r.Decodings.Figures = []record.Figure{figure}
	}
	return r
}

// saved saves a record in a folder of its own, and returns it with its path.
func saved(t testing.TB, experiment string) (r record.Record, path string) {
	folder := t.TempDir()
	r, err := made(t, experiment).Save(folder)
	require.NoError(t, err)
	return r, record.Path(folder, r.ID)
}

// Records survive being saved and loaded, whatever the numbers and texts.
func TestSaveAndLoad(t *testing.T) {
	for _, experiment := range []string{"unroll-1", "ssc-ebc17"} {
		r, path := saved(t, experiment)
		loaded, err := record.Load(path)
		require.NoError(t, err)
		require.Equal(t, r, loaded)
		all, err := record.LoadAll(filepath.Dir(path))
		require.NoError(t, err)
		require.Equal(t, map[string]record.Record{r.ID: r}, all)
		_, err = record.Load(record.Path(filepath.Dir(path), "relu-lc7-1-0000000000"))
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	none, err := record.LoadAll(filepath.Join(t.TempDir(), "nowhere"))
	require.NoError(t, err)
	require.Empty(t, none)
}

// Copies that browsers and file managers make beside a record do not stop who reads all, whatever
// is in them.
func TestCopiesArePassedOver(t *testing.T) {
	r, path := saved(t, "unroll-1")
	text := filetest.Read(t, path)
	for name, content := range map[string]string{
		r.ID + " (1)": text, r.ID + " (2)": "{}", r.ID + " - Copy": text,
		"Copy of " + r.ID: text, r.ID + ".sync-conflict-20260101-1": "", "notes": "",
	} {
		filetest.Write(t, record.Path(filepath.Dir(path), name), content)
	}
	all, err := record.LoadAll(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, map[string]record.Record{r.ID: r}, all)

	other := strings.Replace(path, "-1-", "-2-", 1) // the name of another run: no copy by chance
	filetest.Write(t, other, text)
	_, err = record.LoadAll(filepath.Dir(path))
	require.ErrorContains(t, err, other)
}

// Flipping a bit of a byte of a record, every third, and cutting it at any place, is refused in one
// line that names the file.
func TestEveryByteCounts(t *testing.T) {
	_, path := saved(t, "unroll-1")
	text := filetest.Read(t, path)
	refused := func(changed, what string, at int) {
		filetest.Write(t, path, changed)
		_, err := record.Load(path)
		require.ErrorContains(t, err, path, "%s %d", what, at)
		require.NotContains(t, err.Error(), "\n")
	}
	for at := 0; at < len(text); at += 3 {
		changed := []byte(text)
		changed[at] ^= 1 << (at % 8)
		refused(string(changed), "bit of byte", at)
	}
	for range 100 {
		cut := rand.IntN(len(text))
		refused(text[:cut], "cut at", cut)
	}
	refused(text+" ", "a byte more at", len(text))
}

// Edits that a person would make are refused by the field's name; fields that nothing computes
// again, by the checksum.
func TestEditsAreNamed(t *testing.T) {
	r, path := saved(t, "unroll-1")
	text := filetest.Read(t, path)
	for _, edit := range []struct{ field, old, new string }{
		{"Format", `"Format": 2`, `"Format": 1`},
		{"ID", `"ID": "unroll`, `"ID": "enroll`},
		{"ID", fmt.Sprintf(`"Version": %d`, experiments.Version), `"Version": 0`}, // describes the run
		{"ID", `"Seed": 1`, `"Seed": 2`},
		{"ID", `"learning_rate": 0.1`, `"learning_rate": 0.02`},
		{"ID", `"Name": "mnist"`, `"Name": "other"`},
		{"Run", `"Epochs": 2`, `"Epochs": -2`},
		{"Run", `"Height": 28`, `"Height": 200000`}, // classify would scale pictures to it
		{"Overrides", `"Images": 100`, `"Images": -100`},
		{"Parameters", `"Parameters": `, `"Parameters": 1`},
		{"TestErr", `"TestErr": `, `"TestErr": 1`},
		{"TestErr", `"Predictions": "1`, `"Predictions": "0`},
		{"TrainErr", `"TrainErr": 25`, `"TrainErr": 125`},
		{"TrainLoss", `"TrainLoss": `, `"TrainLoss": -`},
		{"Penalty", `"Penalty": 0.25`, `"Penalty": 1e300`},
		{"Labels", `"Labels": "0`, `"Labels": "x`},
		{"Predictions", `"Predictions": "`, `"Predictions": "0`},
		{"text", `"Command": "`, `"Command": "\u001b`},
		{"text", `"CPU": "`, `"CPU": "\u009b`},
		{"Origin", `"Cores": 2`, `"Cores": 0`},
		{"Origin", `"Cores": 2`, `"Cores": 2, "Threads": -4`},
		{"Curve", `"Epoch": 2`, `"Epoch": 3`},
		{"Network", `"HalfSHA256": "01`, `"HalfSHA256": "x1`},
		{"SHA256", `"Seconds": 12`, `"Seconds":  12`}, // not as this program writes it
		{"text", `"Seconds": 12`, `"Second": 12`},
		{"text", `"Seconds": 12`, `"Seconds": "12"`},
		{"text", `"Format"`, `"Unknown": 1, "Format"`},
		{"SHA256", `"Seconds": 12`, `"Seconds": 13`},
		{"SHA256", `"TestLoss": 1`, `"TestLoss": 2`},
		{"SHA256", `"BatchErr": 80`, `"BatchErr": 79`},
		{"SHA256", `"SHA256": "` + r.SHA256[:6], `"SHA256": "000000`},
	} {
		require.Contains(t, text, edit.old)
		filetest.Write(t, path, strings.Replace(text, edit.old, edit.new, 1))
		_, err := record.Load(path)
		require.ErrorContains(t, err, "refused: "+edit.field+":", "%s for %s", edit.new, edit.old)
	}
}

// A field that this program does not know is no reason to remove a record.
func TestRecordOfAnotherBuild(t *testing.T) {
	_, path := saved(t, "unroll-1")
	text := filetest.Read(t, path)
	filetest.Write(t, path, strings.Replace(text, `"learning_rate"`, `"other": 1, "learning_rate"`, 1))
	_, err := record.Load(path)
	require.ErrorContains(t, err, "another build")
	require.NotContains(t, err.Error(), "remove")
}

// Links to nowhere, pipes, folders and large files in a record's place are refused, and nothing
// waits for a pipe.
func TestNoRegularFile(t *testing.T) {
	folder := t.TempDir()
	at := filepath.Join(folder, "unroll-1-1-0123456789.json")
	for name, put := range map[string]func() error{
		"pipe":   func() error { return syscall.Mkfifo(at, 0o600) },
		"folder": func() error { return os.Mkdir(at, 0o700) },
		"large":  func() error { return os.WriteFile(at, make([]byte, 5<<20), 0o600) },
		"device": func() error { return os.Symlink("/dev/zero", at) },
		"link":   func() error { return os.Symlink("/nowhere", at) },
	} {
		require.NoError(t, put())
		_, err := record.LoadAll(folder)
		require.ErrorContains(t, err, at, name)
		require.NoError(t, os.Remove(at))
	}
}

// A run that went on elsewhere names each place once, also one without such a thing.
func TestThen(t *testing.T) {
	gpu, cpu := record.Origin{GPU: "X"}, record.Origin{}
	require.Equal(t, cpu, cpu.ResumedOn(cpu))
	require.Equal(t, "X then none", gpu.ResumedOn(cpu).ResumedOn(cpu).GPU)
	require.Equal(t, "none then X", cpu.ResumedOn(gpu).ResumedOn(cpu).ResumedOn(gpu).GPU)
	all := record.Origin{Commit: "a", Go: "b", GoMLX: "c", Backend: "d", Plugin: "e", System: "f",
		CPU: "g", GPU: "h", Cores: 2}
	require.Equal(t, record.Origin{Commit: "none then a", Go: "none then b", GoMLX: "none then c",
		Backend: "none then d", Plugin: "none then e",
		System: "none then f", CPU: "none then g", GPU: "none then h", Cores: 2}, cpu.ResumedOn(all))
	four := record.Origin{Threads: 4}
	require.Equal(t, four, four.ResumedOn(four))
	require.Zero(t, cpu.ResumedOn(four), "the first steps may have had another number")
}

// What cannot be a result is not saved, and leaves no file.
func TestSaveRefuses(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"no decodings":     func(r *record.Record) { r.Decodings = nil },
		"a block less":     func(r *record.Record) { r.Decodings.Trained = r.Decodings.Trained[1:] },
		"another block":    func(r *record.Record) { r.Decodings.Untrained[0].Block = "conv9" },
		"a cosine above 1": func(r *record.Record) { r.Decodings.Trained[0].Linear.Cosine = 1.1 },
		"a cosine of 1e308": func(r *record.Record) {
			r.Decodings.Untrained[0].Rectified.Cosine = 1e308
		},
		"a control of 1":        func(r *record.Record) { r.Decodings.Trained[0].Rectified.Control = 1 },
		"a share above 1":       func(r *record.Record) { r.Decodings.Trained[0].BiasSpread = new(1.5) },
		"a figure elsewhere":    func(r *record.Record) { r.Decodings.Figures[0].File = "../a.png" },
		"the folder above":      func(r *record.Record) { r.Decodings.Figures[0].File = ".." },
		"a title for terminals": func(r *record.Record) { r.Decodings.Figures[0].Title = "\x1b[2J" },
		"an unknown optimizer":  func(r *record.Record) { r.Run.Hyper.Optimizer = "sgd\x1b[2J" },
		"a long command":        func(r *record.Record) { r.Command = strings.Repeat("x", 5000) },
		"a long commit": func(r *record.Record) {
			r.Origin.Commit = strings.Repeat("x", 100_000)
		},
		"a profile's colour": func(r *record.Record) { r.Run.Profile = "smoke\x1b[31m" },
		"a layer's line": func(r *record.Record) {
			r.Run.Network.Layers[0].Name = "conv1\n# title"
		},
		"a name from the right": func(r *record.Record) { r.Run.Dataset.Name = "mnist\u202e" },
		"an override's bell":    func(r *record.Record) { r.Overrides.Set = "optimizer=\a" },
		"a difference below 0":  func(r *record.Record) { r.Decodings.Trained[0].Difference = new(-0.1) },
		"images below 0":        func(r *record.Record) { r.Decodings.Images = -5 },
		"images that are not":   func(r *record.Record) { r.Decodings.Images = r.Run.TestImages + 1 },
		"seed -1":               func(r *record.Record) { r.Run.Seed = -1 },
		"a network too large": func(r *record.Record) {
			r.Run.Network.Layers[0].Block.Filters = 1 << 62
		},
		"classes too many": func(r *record.Record) { r.Run.Network.Classes = 1 << 40 },
	} {
		r := made(t, "ssc-ebc17")
		change(&r)
		folder := t.TempDir()
		_, err := r.Save(folder)
		require.ErrorContains(t, err, "refused", name)
		require.NotRegexp(t, `[^ -~α-ω₀-₉…]`, err.Error(), name)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// A quantity of a term is that of the run, of a block, or of a block before training; what was not
// measured is none.
func TestValue(t *testing.T) {
	r := made(t, "ssc-ebc17")
	r.Decodings.Trained[2].Linear = record.Similarity{Cosine: 0.8, Control: 0.6}
	r.Decodings.Trained[3].BiasSpread = nil
	value := func(quantity experiments.Quantity, block string, untrained bool) *float64 {
		return r.Value(quantity, experiments.Term{Block: block, Untrained: untrained})
	}
	require.Equal(t, &r.TestErr, value(experiments.TestErr, "", false))
	require.Equal(t, &r.TrainErr, value(experiments.TrainErr, "", false))
	require.Equal(t, &r.TrainLoss, value(experiments.TrainLoss, "", false))
	require.InDelta(t, 0.5, *value(experiments.LinearFidelity, "conv3", false), 1e-9)
	require.Equal(t, r.Decodings.Untrained[2].Rectified.Fidelity(),
		*value(experiments.RectifiedFidelity, "conv3", true))
	require.Equal(t, r.Decodings.Trained[4].Difference,
		value(experiments.ClassDifference, "conv5", false))
	require.Nil(t, value(experiments.BiasSpread, "conv4", false))
	require.Nil(t, value(experiments.BiasSpread, "conv9", false))
	r.Decodings = nil
	require.Nil(t, value(experiments.LinearFidelity, "conv3", false))
}

// FuzzLoad: whatever a file holds, loading it ends with an error: no one writes a record by chance.
func FuzzLoad(f *testing.F) {
	_, path := saved(f, "unroll-1")
	text := filetest.Read(f, path)
	for _, seed := range []string{"{}", "null", `{"Run":{"Network":{"Layers":[{}]}}}`,
		`{"Decodings":{"Trained":[{}]}}`,
		strings.Replace(text, `"Layers": [`, `"Layers": [{},`, 1),
		strings.Replace(text, `"Filters": `, `"Filters": -`, 1),
		strings.Replace(text, `"Classes": 10`, `"Classes": 1000000000`, 1)} {
		f.Add([]byte(seed))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := record.Path(folder, "unroll-1-1-0123456789")
		filetest.Write(t, path, text)
		_, err := record.Load(path)
		require.Error(t, err, "no one writes a record by chance")
	})
}

// Classes take as many digits as the largest number among them; of ten it is one, as ever.
func TestClassText(t *testing.T) {
	classes := []uint16{3, 0, 9}
	for count, want := range map[int]string{
		10: "309", 11: "030009", 100: "030009", 101: "003000009", 1000: "003000009",
	} {
		require.Equal(t, want, record.ClassText(classes, count))
	}
}

// own makes a record of own pictures in so many classes, named c0, c1, …
func own(t *testing.T, classes int) record.Record {
	var names []string
	for class := range classes {
		names = append(names, fmt.Sprintf("c%d", class))
	}
	set := experiments.Dataset{Name: "own-flowers", Train: 1000, Test: 300}
	return recordtest.Own(t, "ssc-lc7", set, names...)
}

// A record of many classes has their names and tells predictions of several digits apart. One that
// lacks a name, or names a class that is not, is refused.
func TestManyClasses(t *testing.T) {
	for _, classes := range []int{2, 10, 11, 300, 1000} {
		r, err := own(t, classes).Save(t.TempDir())
		require.NoError(t, err)
		require.InDelta(t, 20, r.TestErr, 1e-9, "%d classes", classes)
		require.Len(t, r.Wrong(), 300)
	}
	for name, change := range map[string]func(r *record.Record){
		"Classes: it says 10":             func(r *record.Record) { r.Classes = r.Classes[:10] },
		"Classes: it says 0":              func(r *record.Record) { r.Classes = nil },
		"Classes: two classes":            func(r *record.Record) { r.Classes[3] = r.Classes[4] },
		"Classes: two classes have one n": func(r *record.Record) { r.Classes[3] = "" },
		"text: ":                          func(r *record.Record) { r.Classes[3] = "\x1b[2J" },
		"Predictions: it is not": func(r *record.Record) {
			r.Predictions = "11" + r.Predictions[2:]
		},
		"Labels: it is not": func(r *record.Record) { r.Labels = r.Labels[1:] },
		"Predictions: it is": func(r *record.Record) {
			r.Predictions = "-1" + r.Predictions[2:]
		},
	} {
		r := own(t, 11)
		change(&r)
		_, err := r.Save(t.TempDir())
		require.ErrorContains(t, err, name)
	}
	r := made(t, "unroll-1")
	r.Classes = []string{"a", "b"}
	_, err := r.Save(t.TempDir())
	require.ErrorContains(t, err, "Classes")
}
