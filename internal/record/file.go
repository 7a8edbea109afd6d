package record

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ebsscgo/experiments"
	"ebsscgo/internal/safefile"
)

// Folders in a profile's results: of records, of the figures that records and reports name, and of
// trained networks.
const (
	Folder         = "runs"
	FiguresFolder  = "figures"
	NetworksFolder = "networks"
)

const suffix = ".json"

// maxSize is the size in bytes of the largest file that is taken for a record.
const maxSize = 4 << 20

// Path returns the path of a run's record in a folder of records.
func Path(folder, id string) string { return filepath.Join(folder, id+suffix) }

// NetworkFile returns the path of a run's trained network in the folder of a profile's results. The
// file holds the network's variables by name ("conv1/dictionary"), and the run's description, JSON
// in bytes ("run"). docs/scores.py reads it with NumPy alone.
func NetworkFile(results, id string) string {
	return filepath.Join(results, NetworksFolder, id+".npz")
}

// Save adds the record to a folder in one step, and returns it sealed: Format, ID, Parameters and
// SHA256 follow from the rest.
func (r Record) Save(folder string) (Record, error) {
	count, _ := r.Run.Network.Count() // check says what is wrong with the network
	r.Format, r.ID, r.Parameters = Format, r.Run.ID(), count.Total()
	r, text, err := r.sealed()
	if err != nil {
		return Record{}, fmt.Errorf("recording %s: %w", r.ID, err)
	}
	path := Path(folder, r.ID)
	if err := r.check(path, text); err != nil {
		return Record{}, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Record{}, fmt.Errorf("a folder for records: %w", err)
	}
	if err := safefile.Write(path, text); err != nil {
		return Record{}, fmt.Errorf("recording %s: %w", r.ID, err)
	}
	return r, nil
}

// Load reads and verifies a record. The error is fs.ErrNotExist where the run has none, else one
// line that names the file and the field that does not fit.
func Load(path string) (r Record, err error) {
	text, err := safefile.Read(path, maxSize)
	switch {
	case errors.As(err, new(syscall.Errno)): // the record may well be good
		return Record{}, fmt.Errorf("reading a record: %w; make it readable to you, or name "+
			"another folder with --results", err)
	case err != nil:
		return Record{}, refused(path, "file", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil && strings.Contains(err.Error(), "unknown field") {
		return Record{}, fmt.Errorf("record %s is refused: text: %w; if another build of this program "+
			"wrote it, move it to a folder of that build's, else restore the file from git", path, err)
	} else if err != nil {
		return Record{}, refused(path, "text", err)
	}
	if err := r.check(path, text); err != nil {
		return Record{}, err
	}
	if _, written, err := r.sealed(); err != nil || !bytes.Equal(text, written) {
		return Record{}, refused(path, "SHA256", errors.New("the file was changed after it was written"))
	}
	return r, nil
}

// named is the form of the name of a record's file.
var named = regexp.MustCompile(`^\S+-\d+-[0-9a-f]{10}\.json$`)

// LoadAll reads and verifies all records of a folder, by their IDs. A folder that does not exist
// has none. Files whose names no record has, such as "… (1).json", are copies that programs make: a
// line on standard error says that they are passed over.
func LoadAll(folder string) (map[string]Record, error) {
	entries, err := safefile.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading records: %w; name another folder with --results", err)
	}
	records := map[string]Record{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), suffix) || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if !named.MatchString(entry.Name()) {
			fmt.Fprintf(os.Stderr, "warning: %q is passed over, no run has that name: remove it, or "+
				"if it is the only copy of a record, give it the name ID.json by the ID in it\n",
				filepath.Join(folder, entry.Name()))
			continue
		}
		r, err := Load(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		records[r.ID] = r
	}
	return records, nil
}

// refused returns the error of a record with a field that does not fit.
func refused(path, field string, why error) error {
	return fmt.Errorf("record %s is refused: %s: %s; restore the file from git, or remove it and "+
		"run the experiment again", path, field, strings.ReplaceAll(why.Error(), "\n", "; "))
}

// sealed returns the record with the checksum of its text without one, and the text of its file.
func (r Record) sealed() (Record, []byte, error) {
	r.SHA256 = ""
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return r, nil, err
	}
	r.SHA256 = safefile.Sum(append(text, '\n'))
	text, err = json.MarshalIndent(r, "", "\t")
	return r, append(text, '\n'), err
}

// check computes again what can be computed, and returns an error that names the first field that
// does not fit. text is that of the record's file.
func (r Record) check(path string, text []byte) error {
	run := r.Run
	if err := r.textError(text); err != nil { // first: errors quote texts
		return refused(path, "text", err)
	}
	if err := run.Validate(); err != nil {
		return refused(path, "Run", err)
	}
	count, err := run.Network.Count()
	for _, field := range []struct {
		name string
		err  error
	}{
		{"Format", equal(r.Format, Format)},
		{"ID", errors.Join(equal(r.ID, run.ID()), equal(r.ID+suffix, filepath.Base(path)))},
		{"Overrides", r.Overrides.Validate()},
		{"Classes", r.classNamesError()},
		{"Parameters", errors.Join(err, equal(r.Parameters, count.Total()))},
		{"Labels", r.classesError(r.Labels)},
		{"Predictions", r.classesError(r.Predictions)},
		{"TestErr", equal(r.TestErr, r.ErrorRate())},
		{"TrainErr", within(0, 100, &r.TrainErr)},
		{"TrainLoss", within(0, math.MaxFloat32, &r.TrainLoss)},
		{"TestLoss", within(0, math.MaxFloat32, &r.TestLoss)},
		{"Penalty", within(0, math.MaxFloat32, &r.Penalty)},
		{"Seconds", within(0, 1e9, &r.Seconds)},
		{"Origin", r.originError()},
		{"Curve", errors.Join(equal(len(r.Curve), r.Run.Epochs), r.epochsError())},
		{"Decodings", r.decodingsError()},
		{"Network", errors.Join(shaError(r.Network.SHA256), shaError(r.Network.HalfSHA256))},
	} {
		if field.err != nil {
			return refused(path, field.name, field.err)
		}
	}
	return nil
}

// originError returns an error if a number of the origin is none that a computer has.
func (r Record) originError() error {
	return errors.Join(within(0, 1<<20, new(float64(r.Origin.Threads))),
		within(1, 1<<20, new(float64(r.Origin.Cores)), new(float64(r.Origin.Devices))))
}

// epochsError returns an error if an epoch of the curve is not one that training writes.
func (r Record) epochsError() error {
	for i, epoch := range r.Curve {
		err := errors.Join(equal(epoch.Epoch, i+1),
			equal(epoch.Step, (i+1)*r.Run.StepsPerEpoch()),
			equal(epoch.Trace != nil, r.Run.EvalEachEpoch),
			within(0, math.MaxFloat32, &epoch.BatchLoss),
			within(0, 100, &epoch.BatchErr),
			within(0, 1e9, &epoch.Seconds))
		if t := epoch.Trace; t != nil {
			err = errors.Join(err, within(0, math.MaxFloat32, &t.TrainLoss),
				within(0, 100, &t.TrainErr, &t.TestErr))
		}
		if err != nil {
			return fmt.Errorf("epoch %d: %w", i+1, err)
		}
	}
	return nil
}

// decodingsError returns an error if the decodings are none that a run measures.
func (r Record) decodingsError() error {
	if err := equal(r.Decodings != nil, r.Run.Decoded); err != nil || r.Decodings == nil {
		return err
	}
	blocks := r.Run.Network.Blocks()
	for _, levels := range [][]BlockMeasures{r.Decodings.Trained, r.Decodings.Untrained} {
		if err := equal(len(levels), len(blocks)); err != nil {
			return fmt.Errorf("its number of blocks: %w", err)
		}
		for i, l := range levels {
			err := errors.Join(equal(l.Block, blocks[i].Name),
				within(0, 1, l.Difference, l.InkShare, l.InkArea, l.BiasSpread))
			for _, s := range []Similarity{l.Linear, l.Rectified} {
				err = errors.Join(err, within(-1, 1, &s.Cosine, s.ImageCosine, s.ImageControl),
					within(-1, 0.999999, &s.Control))
			}
			if err != nil {
				return fmt.Errorf("block %d: %w", i+1, err)
			}
		}
	}
	for _, figure := range r.Decodings.Figures {
		if figure.File != filepath.Base(figure.File) || filepath.Ext(figure.File) != ".png" {
			return fmt.Errorf("%.100q is no figure's name", figure.File)
		}
		if err := shaError(figure.SHA256); err != nil {
			return err
		}
	}
	return errors.Join(within(0, 1e9, &r.Decodings.Seconds),
		within(1, float64(r.Run.TestImages), new(float64(r.Decodings.Images))))
}

// equal returns an error if a value is not the one that was computed again.
func equal[T comparable](value, computed T) error {
	if value != computed {
		return fmt.Errorf("it says %v, and computed again it is %v", value, computed)
	}
	return nil
}

// classesError returns an error if a text is not the class of each test image, see [ClassText].
func (r Record) classesError(text string) error {
	classes := r.Run.Network.Classes
	width := classWidth(classes)
	bad := len(text) != width*r.Run.TestImages || strings.Trim(text, "0123456789") != ""
	for at := 0; at < len(text) && !bad; at += width {
		class, err := strconv.Atoi(text[at : at+width])
		bad = err != nil || class >= classes
	}
	if bad {
		return fmt.Errorf("it is not one of %d classes for each of %d images", classes, r.Run.TestImages)
	}
	return nil
}

// classNamesError returns an error if own pictures have not a name for each class, or others have
// names.
func (r Record) classNamesError() error {
	names := slices.Sorted(slices.Values(r.Classes))
	if !experiments.Own(r.Run.Dataset.Name) {
		return equal(len(names), 0)
	}
	if names = slices.Compact(names); len(names) != len(r.Classes) || slices.Contains(names, "") {
		return errors.New("two classes have one name, or one has none")
	}
	return equal(len(names), r.Run.Network.Classes)
}

// within returns an error if a value that is there is not between two others.
func within(least, most float64, values ...*float64) error {
	for _, value := range values {
		if value != nil && !(*value >= least && *value <= most) {
			return errors.New("a number is out of range")
		}
	}
	return nil
}

// textError returns an error if a name or another text of the record's file is too long, or not
// printable.
func (r Record) textError(file []byte) error {
	tokens := json.NewDecoder(bytes.NewReader(file))
	for token, err := tokens.Token(); err == nil; token, err = tokens.Token() {
		text, _ := token.(string)
		long := len(text) > 2000 && text != r.Predictions && text != r.Labels
		if long || !experiments.Printable(text) {
			return fmt.Errorf("%.40q… is too long or not printable", text)
		}
	}
	return nil
}

// shaError returns an error if a text is no SHA-256 in hexadecimal digits.
func shaError(text string) error {
	if sum, err := hex.DecodeString(text); err != nil || len(sum) != 32 {
		return fmt.Errorf("%.70q is no SHA-256", text)
	}
	return nil
}
