package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/safefile"
)

// withoutTF32 matches GoMLX's options with which a GPU multiplies float32 in full.
var withoutTF32 = regexp.MustCompile(`(^|,)(notf32|tf32=(0|[fF]|false|False|FALSE))(,|$)`)

// machine is what the choice depends on; tests replace it by a made-up one.
type machine struct {
	gpu        func(context.Context) bool // whether the machine has an NVIDIA GPU
	cudaPlugin func(context.Context) (path string, err error)
	cpuPlugin  func(context.Context) (*os.File, error)
}

// foundCUDA says why CUDA is chosen if nobody asked for a backend.
const foundCUDA = "a GPU and its plugin found"

// cpuInstead returns the warning that the CPU takes the place of a GPU.
func cpuInstead(err error) string {
	return "the CPU will compute although there is a GPU: " + OneLine(err)
}

// Resolve chooses the backend, and installs the CPU plugin if that is needed and missing.
//
// spec is "cpu" or "cuda" (XLA with that plugin), "go", or "xla:" with "cpu", "cuda" or a plugin's
// absolute path, and with GoMLX's options, as in "xla:cuda,tf32=false". If it is empty,
// $GOMLX_BACKEND counts. If that is empty, too, Resolve takes CUDA if the machine has a GPU and its
// plugin, else the CPU: with a Warning if only the plugin is missing. A backend that is not
// available is an error.
func Resolve(ctx context.Context, spec string) (Choice, error) {
	return thisMachine(cache.Fetch).resolve(ctx, spec)
}

// Check finds mistakes before long work, and installs nothing: a spec that [Resolve] refuses, and
// bfloat16 on a CPU without instructions for it or on another backend than a CPU's XLA.
func Check(ctx context.Context, spec string, bfloat16 bool) error {
	if bfloat16 && !hasBFloat16() {
		return errNoBFloat16
	}
	choice, err := thisMachine(cache.Installed).resolve(ctx, spec)
	choice.file.Close() // nil has nothing to close
	switch {
	case errors.Is(err, cache.ErrMissing):
		return nil
	case err == nil && bfloat16 && (choice.Name == nameGo || choice.CUDA()):
		return errNoOneDNN(choice)
	}
	return err
}

// resolve is [Resolve] on a machine.
func (m machine) resolve(ctx context.Context, spec string) (Choice, error) {
	why, warning := "asked for", ""
	if spec == "" {
		spec, why = os.Getenv(compute.ConfigEnvVar), "$"+compute.ConfigEnvVar
	}
	if spec == "" {
		spec, why = "cpu", "no NVIDIA GPU"
		if m.gpu(ctx) {
			choice, err := m.named(ctx, "cuda")
			if choice.Why = foundCUDA; err == nil {
				return choice, nil
			}
			why, warning = "a GPU found, but no plugin for it", cpuInstead(err)
		}
	}
	choice, err := m.named(ctx, spec)
	if ctx.Err() != nil { // a search that was interrupted finds nothing
		return Choice{}, context.Cause(ctx)
	}
	if err != nil {
		return Choice{Warning: warning}, fmt.Errorf("backend %q (%s): %w", spec, why, err)
	}
	choice.Why, choice.Warning = why, warning
	return choice, nil
}

// named returns the choice that a non-empty spec asks for.
func (m machine) named(ctx context.Context, spec string) (c Choice, err error) {
	kind, config, _ := strings.Cut(spec, ":")
	switch {
	case spec == "cpu" || spec == "cuda":
		kind, config = nameXLA, spec
	case kind == nameGo:
		return Choice{Config: spec, Name: nameGo}, nil
	}
	path, options, _ := strings.Cut(config, ",")
	c.Name = nameXLA // of an unknown kind: open asks the plugin
	switch file := filepath.Base(path); {
	case kind != nameXLA || path == "" || strings.Contains(options, "help"):
		// For help go-xla would load all plugins that it finds.
		err = errors.New("unknown; want cpu, cuda, go, or a GoMLX configuration such as " +
			"xla:/path/to/plugin.so")
	case path == "cuda" && !m.gpu(ctx):
		err = errors.New("this machine has no NVIDIA GPU (no /dev/nvidia*, and nvidia-smi lists " +
			"none)")
	case path == "cuda":
		c.Name = nameCUDA
		path, err = m.cudaPlugin(ctx)
	case path == "cpu":
		c.Name = nameCPU
		if c.file, err = m.cpuPlugin(ctx); err == nil {
			path = c.file.Name()
		}
	case !filepath.IsAbs(path):
		err = errors.New("no plugin of this name: want cpu, cuda, or a file's absolute path")
	case pjrt.IsCUDAName(file):
		c.Name = nameCUDA
	case isCPU(file):
		c.Name = nameCPU
	}
	if c.Name == nameCUDA && withoutTF32.MatchString(options) {
		c.Name = nameCUDAFloat32
	}
	if err != nil {
		return c, err
	}
	file, err := safefile.Open(path) // loading a pipe would wait
	if err != nil {
		return c, err
	}
	defer file.Close()
	c.Config = strings.TrimSuffix("xla:"+path+","+options, ",")
	c.Plugin, err = filepath.EvalSymlinks(path)
	return c, err
}
