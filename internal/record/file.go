package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ebsscgo/internal/safefile"
)

// Folders in a profile's results: of records, and of the figures that records and reports name.
const (
	Folder        = "runs"
	FiguresFolder = "figures"
)

// suffix of a record's file.
const suffix = ".json"

// maxSize is the size in bytes of the largest file that is taken for a record.
const maxSize = 4 << 20

// Path is the file of a run in a folder of records.
func Path(folder, id string) string { return filepath.Join(folder, id+suffix) }

// Save adds the record to a folder in one step. It sets Format, ID and SHA256.
func (r Record) Save(folder string) (Record, error) {
	r.Format, r.ID = Format, r.Run.ID()
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

// Load reads and verifies a record. The error is fs.ErrNotExist where the run has none, else one line that names the file and the
// field that does not fit.
func Load(path string) (r Record, err error) {
	text, err := safefile.Read(path, maxSize)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno): // the record may well be good
		return Record{}, fmt.Errorf("reading a record: %w", err)
	case err != nil:
		return Record{}, refused(path, "file", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return Record{}, refused(path, "text", err)
	}
	if err := r.check(path, text); err != nil {
		return Record{}, err
	}
	if _, written, err := r.sealed(); err != nil || !bytes.Equal(text, written) {
		return Record{}, refused(path, firstDifference(text, written), errors.New("the file was changed after it was written"))
	}
	return r, nil
}

// LoadAll reads and verifies all records of a folder, by their IDs. A folder that does not exist has none.
func LoadAll(folder string) (map[string]Record, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading records: %w", err)
	}
	records := map[string]Record{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), suffix) || strings.HasPrefix(entry.Name(), ".") {
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

func refused(path, field string, why error) error {
	return fmt.Errorf("record %s is refused: %s: %s; restore the file from git, or remove it and run the experiment again",
		path, field, strings.ReplaceAll(why.Error(), "\n", "; "))
}

// sealed is the record with the checksum of its text without one, and the text of the record's file.
func (r Record) sealed() (Record, []byte, error) {
	r.SHA256 = ""
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return r, nil, err
	}
	r.SHA256 = fmt.Sprintf("%x", sha256.Sum256(append(text, '\n')))
	text, err = json.MarshalIndent(r, "", "\t")
	return r, append(text, '\n'), err
}

// firstDifference names the line, by its field, at which two texts differ.
func firstDifference(text, written []byte) string {
	lines, field := strings.Split(string(text), "\n"), "text"
	for i, line := range strings.Split(string(written), "\n") {
		if name, _, ok := strings.Cut(strings.TrimLeft(line, "\t"), `": `); ok && strings.HasPrefix(name, `"`) {
			field = strings.TrimPrefix(name, `"`)
		}
		if i >= len(lines) || lines[i] != line {
			break
		}
	}
	return field
}
