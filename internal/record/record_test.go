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
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ebsscgo/ebssc"
	"ebsscgo/experiments"
	"ebsscgo/internal/decode"
	"ebsscgo/internal/record"
	"ebsscgo/internal/record/recordtest"
)

// written is a record of a small run, written to a folder of its own, with its path.
func written(t *testing.T, change func(*record.Record)) (r record.Record, path string) {
	r = recordtest.New(t, experiments.Studies, "unroll-1", "smoke", 1, experiments.Overrides{Images: 100})
	if change != nil {
		change(&r)
	}
	folder := t.TempDir()
	r, err := r.Write(folder)
	require.NoError(t, err)
	return r, record.Path(folder, r.ID)
}

func TestWriteAndLoad(t *testing.T) {
	r, path := written(t, func(r *record.Record) {
		r.Decodings = &record.Decodings{Images: 3, Trained: []decode.Fidelity{{Block: "conv1", Cosine: 0.5}},
			Figures: []record.Figure{{File: "a.png", Title: "A <title> & more", SHA256: "00"}}}
	})
	loaded, err := record.Load(path)
	require.NoError(t, err)
	require.Equal(t, r, loaded)
	all, err := record.LoadAll(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, []record.Record{r}, all)
	none, err := record.LoadAll(filepath.Join(filepath.Dir(path), "nowhere"))
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = record.Load(record.Path(filepath.Dir(path), "relu-lc7-1-0000000000"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// Flipping a bit of any byte of a record, and cutting it at any place, is refused in one line that names the file.
func TestEveryByteCounts(t *testing.T) {
	_, path := written(t, nil)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := func(changed []byte, what string, at int) {
		require.NoError(t, os.WriteFile(path, changed, 0o644))
		_, err := record.Load(path)
		require.Error(t, err, "%s %d of %q", what, at, text[max(0, at/8-20):min(len(text), at/8+20)])
		require.Contains(t, err.Error(), path)
		require.NotContains(t, err.Error(), "\n")
	}
	for at := range text {
		changed := append([]byte{}, text...)
		changed[at] ^= 1 << (at % 8)
		refused(changed, "bit", 8*at+at%8)
	}
	for range 200 {
		cut := rand.IntN(len(text))
		refused(text[:cut], "cut at bit", 8*cut)
	}
	refused(append(append([]byte{}, text...), ' '), "a byte more at", 0)
}

// Edits that a person would make are refused by the field's name.
func TestEditsAreNamed(t *testing.T) {
	_, path := written(t, nil)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	r, err := record.Load(path)
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	edit := func(field, old, new string) {
		changed := append([]string{}, lines...)
		for i, line := range changed {
			if strings.HasPrefix(line, "\t\""+field+"\"") {
				require.Contains(t, line, old)
				changed[i] = strings.Replace(line, old, new, 1)
			}
		}
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(changed, "\n")), 0o644))
		_, err := record.Load(path)
		require.ErrorContains(t, err, "refused: "+field+":", "%s for %s", new, old)
	}
	edit("TestErr", ": ", ": 1")
	edit("Parameters", ": ", ": 1")
	edit("Predictions", `: "`+r.Predictions[:1], `: "`)
	edit("Labels", `: "`+r.Labels[:1], `: "x`)
	edit("ID", "unroll", "enroll")
	edit("Format", "1", "2")
	edit("SHA256", `: "`+r.SHA256[:1], `: "`+string(r.SHA256[0]^1))
	edit("TrainErr", ": ", ": -")
	edit("Penalty", ": ", ": 1")
	changed := strings.Replace(string(text), r.Predictions[:9], strings.Repeat("9", 9), 1)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
	_, err = record.Load(path)
	require.ErrorContains(t, err, "refused: TestErr:")
	// What only the checksum knows.
	for _, field := range []string{"Seconds", "TrainObjective", "TestObjective"} {
		changed := strings.Replace(string(text), `"`+field+`": `, `"`+field+`": 1`, 1)
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
		_, err := record.Load(path)
		require.ErrorContains(t, err, "refused: SHA256:", field)
	}
	// Version, epochs, data set, seed and settings are part of the ID.
	for _, old := range []string{fmt.Sprintf(`"Version":%d`, experiments.Version), `"Epochs":2`, `"Name":"cifar10-made"`, `"Seed":1`, `"batch_size":50`, `"Train":1000`} {
		changed := strings.Replace(string(text), old, strings.NewReplacer("2", "3", "3", "2", "1", "4", "5", "6", "made", "mode").Replace(old), 1)
		require.NotEqual(t, string(text), changed, old)
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
		_, err := record.Load(path)
		require.ErrorContains(t, err, "refused: ID:", old)
	}
	// Spaces that JSON does not mind.
	changed = strings.Replace(string(text), `"Seconds": `, `"Seconds":  `, 1)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o644))
	_, err = record.Load(path)
	require.ErrorContains(t, err, "refused: Seconds:")
}

// Links, pipes and folders in a record's place are refused and not read.
func TestNoRegularFile(t *testing.T) {
	_, path := written(t, nil)
	for name, put := range map[string]func(string) error{
		"link":   func(at string) error { return os.Symlink("/etc/passwd", at) },
		"pipe":   func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"folder": func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		at := filepath.Join(filepath.Dir(path), name+".json")
		require.NoError(t, put(at))
		_, err := record.LoadAll(filepath.Dir(path))
		require.ErrorContains(t, err, at)
		require.NoError(t, os.Remove(at))
	}
}

// What cannot be a result is not recorded, and leaves no file.
func TestWriteRefuses(t *testing.T) {
	for name, change := range map[string]func(*record.Record){
		"error":       func(r *record.Record) { r.TestErr++ },
		"predictions": func(r *record.Record) { r.Predictions = r.Predictions[1:] },
		"curve":       func(r *record.Record) { r.Curve = r.Curve[1:] },
		"parameters":  func(r *record.Record) { r.Parameters++ },
	} {
		r := recordtest.New(t, experiments.Studies, "unroll-1", "smoke", 1, experiments.Overrides{})
		change(&r)
		folder := t.TempDir()
		_, err := r.Write(folder)
		require.Error(t, err, name)
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}

// Records survive being written and read, whatever the numbers.
func TestNumbersSurvive(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		r := recordtest.New(t, experiments.Studies, "relu-lc7", "smoke", 1, experiments.Overrides{Epochs: 1})
		r.Penalty = new(rapid.Float64Range(0, 1).Draw(draw, "penalty"))
		r.TrainObjective = *r.Penalty + rapid.Float64Range(0, 1e300).Draw(draw, "objective")
		r.Seconds = rapid.Float64Range(0, 1e9).Draw(draw, "seconds")
		r.Curve[0].BatchLoss = rapid.Float64Range(0, 1e9).Draw(draw, "loss")
		r.Finished = time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(draw, "finished")).UTC()
		r.Origin.CPU = rapid.String().Draw(draw, "cpu")
		folder := t.TempDir()
		wrote, err := r.Write(folder)
		require.NoError(t, err)
		loaded, err := record.Load(record.Path(folder, wrote.ID))
		require.NoError(t, err)
		require.Equal(t, wrote, loaded)
	})
}

// The training loss is the objective without its penalty. Where a record does not say how large that is, only α = 0 tells.
func TestTrainLoss(t *testing.T) {
	r := recordtest.New(t, experiments.Studies, "unroll-1", "smoke", 1, experiments.Overrides{Settings: experiments.Settings{ebssc.ParamAlpha: 0.5}})
	r.TrainObjective, r.Penalty = 0.75, new(0.5)
	r.Curve[0].Trace.Objective, r.Curve[0].Trace.Penalty = 1, new(0.25)
	require.Equal(t, []float64{0.25, 0.75}, []float64{r.TrainLoss(), r.TracedLoss(r.Curve[0])})
	r.Penalty, r.Curve[0].Trace.Penalty = nil, nil
	require.True(t, math.IsNaN(r.TrainLoss()) && math.IsNaN(r.TracedLoss(r.Curve[0])))
	r.Run.Settings[ebssc.ParamAlpha] = 0.0
	require.Equal(t, []float64{0.75, 1}, []float64{r.TrainLoss(), r.TracedLoss(r.Curve[0])})
}

// FuzzLoad: whatever a file holds, loading it ends with an error: no one writes a record by chance.
func FuzzLoad(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add([]byte("null"))
	f.Add([]byte(`{"Run":{"Network":{"Layers":[{}]}}}`))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := record.Path(folder, "unroll-1-1-0123456789")
		require.NoError(t, os.WriteFile(path, text, 0o644))
		_, err := record.Load(path)
		require.Error(t, err, "no one writes a record by chance")
	})
}
