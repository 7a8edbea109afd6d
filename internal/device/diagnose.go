package device

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
)

// Status is the state of something that the experiments need.
type Status string

// The values of Status.
const (
	OK      Status = "ok"      // usable
	Warn    Status = "warn"    // usable, but needs attention
	Missing Status = "missing" // not available
)

// Finding is the result of checking one thing.
type Finding struct {
	What   string // a noun: "XLA CPU plugin"
	Status Status
	Detail string // one line: what was found, or what is wrong
	Do     string // what to do about it; empty if nothing
}

// minFree is the disk space for the cache folder, in bytes, below which Diagnose warns: the CPU plugin, its wheel and CIFAR-10
// with its archive take about one gigabyte.
const minFree = 2 << 30

// otherCache is what to do where the cache folder cannot be used.
const otherCache = "set " + cache.EnvVar + " to a folder that can be written to"

// Diagnose checks what the backends need on this machine; the first finding is about the backend that a run takes by default. It installs nothing, but
// makes the cache folder. It never fails: what cannot be determined is a Finding too.
func Diagnose(ctx context.Context) []Finding {
	m := thisMachine()
	m.cpu = installNothing{m.cpu}
	return []Finding{
		m.chosen(ctx),
		{What: "Go backend", Status: OK, Detail: "built in; about 100 times slower than XLA"},
		m.cpuPlugin(ctx),
		gpu(ctx),
		m.cudaPlugin(ctx),
		python(ctx),
		cacheFolder(),
	}
}

// installNothing is a source whose install only looks: the path of a missing plugin is empty.
type installNothing struct{ source }

func (s installNothing) install(context.Context) (string, error) {
	path, ok, err := s.installed()
	if !ok {
		path = ""
	}
	return path, err
}

// chosen reports which backend a run takes by default.
func (m machine) chosen(ctx context.Context) Finding {
	f := Finding{What: "default backend"}
	choice, err := m.resolve(ctx, "")
	switch {
	case errors.Is(err, cache.ErrUnusable), errors.Is(err, errBrokenPlugin):
		return f.missing(err.Error(), "") // which says what to do
	case err != nil:
		return f.missing(err.Error(), "give --backend, or change $"+compute.ConfigEnvVar)
	case choice.Warning != "":
		return f.warn(errors.New(choice.Warning), "")
	}
	if path, err := m.find(ctx, "cpu"); choice.CPU() && err == nil && path == "" {
		if _, err := cache.Dir(); err != nil { // the first run would install the plugin there
			return f.missing(err.Error(), otherCache)
		}
	}
	return f.ok(fmt.Sprintf("%s (%s)", choice.Name, choice.Why))
}

// cpuPlugin looks for the XLA plugin for the CPU.
func (m machine) cpuPlugin(ctx context.Context) Finding {
	f := Finding{What: "XLA CPU plugin"}
	path, err := m.find(ctx, "cpu")
	switch {
	case err != nil:
		return f.missing(err.Error(), "")
	case path == "":
		if _, err := cache.Dir(); err != nil {
			return f.missing(err.Error(), otherCache)
		}
		return f.missing("not installed yet", fmt.Sprintf("nothing: %v on the first run", m.cpu))
	}
	return f.plugin(path)
}

// gpu looks for an NVIDIA GPU.
func gpu(ctx context.Context) Finding {
	f := Finding{What: "NVIDIA GPU"}
	if !hasGPU(ctx) {
		return f.missing("none; the CPU computes", "")
	}
	listed, err := ask(ctx, "nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
	if err != nil {
		return f.warn(err, "check the NVIDIA driver: nvidia-smi should list the GPU")
	}
	return f.ok(strings.ReplaceAll(listed, "\n", "; "))
}

// cudaPlugin looks for the XLA plugin for CUDA and the libraries that it needs.
func (m machine) cudaPlugin(ctx context.Context) Finding {
	f := Finding{What: "CUDA plugin"}
	if !m.gpu(ctx) {
		return f.missing("not needed without a GPU", "")
	}
	path, err := m.find(ctx, "cuda")
	if err != nil {
		return f.missing("neither in a folder that go-xla searches nor among Python's packages", installCUDA)
	}
	if missing, do := missingLibraries(ctx, path); missing != "" {
		return f.missing(missing, do)
	}
	return f.plugin(path)
}

// python looks for Python and pip, which download plugins and the data sets that come as wheels.
func python(ctx context.Context) Finding {
	f := Finding{What: "Python and pip"}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	version, err := output(cache.Pip(ctx, "--version"))
	if err != nil {
		return f.missing(err.Error(), "install Python 3 with pip (Debian and Ubuntu: apt-get install python3-pip)")
	}
	return f.ok(version)
}

// cacheFolder checks that the cache folder can be written to, and its disk space.
func cacheFolder() Finding {
	f := Finding{What: "cache folder"}
	dir, err := cache.Locate()
	if err != nil {
		return f.missing(err.Error(), "")
	}
	if _, err := cache.Dir(); err != nil {
		return f.warn(err, otherCache)
	}
	free, err := freeDisk(dir)
	return f.enough(free, err, "free in "+dir, minFree, "the XLA plugin with CIFAR-10",
		"free some, or set "+cache.EnvVar+" to a folder on another disk")
}

// plugin completes f for the plugin at path, which it loads to read the version of its API.
func (f Finding) plugin(path string) Finding {
	var loaded *pjrt.Plugin
	err := try(func() (err error) {
		loaded, err = pjrt.GetPlugin(path)
		return err
	})
	if err != nil {
		return f.warn(err, "remove the file")
	}
	major, minor := loaded.Version()
	return f.ok(fmt.Sprintf("%s, PJRT API %d.%d", path, major, minor))
}

func (f Finding) ok(detail string) Finding {
	f.Status, f.Detail = OK, detail
	return f
}

func (f Finding) warn(err error, do string) Finding {
	f.Status, f.Detail, f.Do = Warn, OneLine(err), do
	return f
}

func (f Finding) missing(detail, do string) Finding {
	f.Status, f.Detail, f.Do = Missing, detail, do
	return f
}
