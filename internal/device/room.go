package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Need is what a run takes.
type Need struct {
	What   string // whose need it is, as the subject of a sentence: "profile paper"
	Memory uint64 // in bytes, at its peak
	Disk   uint64 // in bytes, added to Folder
	Folder string // for results; it need not be there yet
}

// Room says whether memory and disk suffice for what is about to run, and what to do if they do not. Like [Diagnose] it
// never fails: what cannot be found out is a Finding too.
func Room(need Need) []Finding {
	memory, noMemory := FreeMemory()
	disk, noDisk := FreeDisk(need.Folder)
	return []Finding{
		Finding{What: "free memory"}.enough(memory, noMemory, "here", need.Memory, need.What,
			"close other programs, train fewer rows at once, or take a smaller profile"),
		Finding{What: "free disk, results"}.enough(disk, noDisk, "for "+need.Folder, need.Disk, need.What,
			"free some, or give --results a folder on another disk"),
	}
}

// enough completes f by the bytes that are free, unless that failed, and those that something needs.
func (f Finding) enough(free uint64, err error, where string, needed uint64, what, do string) Finding {
	if err != nil {
		return f.warn(err, "")
	}
	room := fmt.Sprintf("%s %s; %s takes up to %s", amount(free), where, what, amount(needed))
	if free < needed {
		return f.warn(errors.New(room), do)
	}
	return f.ok(room)
}

// amount is a number of bytes for people.
func amount(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// FreeDisk returns how many bytes the user may still write to the disk that holds dir, or will hold it once it is made. The
// error is [errors.ErrUnsupported] on systems where that is not known.
func FreeDisk(dir string) (uint64, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, err
	}
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return freeBytes(dir)
		}
		dir = filepath.Dir(dir)
	}
}
