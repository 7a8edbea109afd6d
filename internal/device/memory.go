package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// FreeMemory returns how many bytes of memory programs here can still take without swapping: what the kernel says is
// available, but no more than the control groups of this process leave it (a container's limit is one). The error is
// [errors.ErrUnsupported] on systems other than Linux.
func FreeMemory() (uint64, error) {
	if runtime.GOOS != "linux" {
		return 0, fmt.Errorf("free memory is not known on this system: %w", errors.ErrUnsupported)
	}
	return freeMemory(os.DirFS("/"))
}

// freeMemory is FreeMemory for a Linux machine whose files are in root.
func freeMemory(root fs.FS) (uint64, error) {
	free, err := readField(root, "proc/meminfo", "MemAvailable:")
	if err != nil {
		return 0, fmt.Errorf("free memory: %w", err)
	}
	free *= 1024 // it is given in kB
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return free, nil // a kernel without control groups
	}
	if err != nil {
		return 0, fmt.Errorf("free memory: %w", err)
	}
	for line := range strings.Lines(string(groups)) {
		left, limited, err := memoryLeft(root, strings.TrimSpace(line))
		if err != nil {
			return 0, fmt.Errorf("free memory: %w", err)
		}
		if limited {
			free = min(free, left)
		}
	}
	return free, nil
}

// hierarchy is where a version of control groups keeps what it knows of memory.
type hierarchy struct{ folder, limit, used, reclaimable string }

var (
	version1 = hierarchy{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	version2 = hierarchy{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// memoryLeft returns how much memory the group in a line of /proc/self/cgroup, and those around it, leave; limited is false
// if they leave all.
func memoryLeft(root fs.FS, line string) (left uint64, limited bool, err error) {
	parts := strings.SplitN(line, ":", 3) // number:controllers:path
	if len(parts) != 3 {
		return 0, false, fmt.Errorf("/proc/self/cgroup has the line %q", line)
	}
	version := version2
	if parts[1] != "" {
		if !slices.Contains(strings.Split(parts[1], ","), "memory") {
			return 0, false, nil
		}
		version = version1
	}
	// In a container the path may be that of the host, of which there is only the last part here: folders which are not
	// there are passed over on the way up to the top.
	for group := path.Join("/", parts[2]); ; group = path.Dir(group) {
		here, limits, err := version.left(root, path.Join(version.folder, group))
		if err != nil {
			return 0, false, err
		}
		if limits && (!limited || here < left) {
			left, limited = here, true
		}
		if group == "/" {
			return left, limited, nil
		}
	}
}

// left returns how much memory the control group in folder leaves, if it limits it. What the kernel holds for files that
// were read and can be dropped is not taken.
func (h hierarchy) left(root fs.FS, folder string) (left uint64, limited bool, err error) {
	text, err := fs.ReadFile(root, path.Join(folder, h.limit))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil || strings.TrimSpace(string(text)) == "max" {
		return 0, false, err
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, false, err
	}
	used, err := readField(root, path.Join(folder, h.used), "")
	if err != nil {
		return 0, false, err
	}
	reclaimable, err := readField(root, path.Join(folder, "memory.stat"), h.reclaimable)
	if err != nil {
		return 0, false, err
	}
	used -= min(used, reclaimable)
	return limit - min(limit, used), true, nil
}

// readField returns the number after a name that starts a line of a file; if the name is empty, the first number.
func readField(root fs.FS, file, name string) (uint64, error) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if name != "" {
			if len(fields) == 0 || fields[0] != name {
				continue
			}
			fields = fields[1:]
		}
		if len(fields) == 0 {
			break
		}
		return strconv.ParseUint(fields[0], 10, 64)
	}
	return 0, fmt.Errorf("/%s does not say %q", file, name)
}
