package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
)

// machine is what the choice depends on; tests replace it by a made-up one.
type machine struct {
	gpu                   func(context.Context) bool // whether the machine has an NVIDIA GPU
	cudaPlugin, cpuPlugin func(context.Context) (path string, err error)
}

// Resolve chooses the backend, and installs the CPU plugin if that is needed and missing.
//
// spec is "cpu" or "cuda" (XLA with that plugin), "go", or any GoMLX configuration such as "xla:/path/plugin.so" or
// "xla:cuda,tf32=false". If it is empty, $GOMLX_BACKEND counts; if that is empty too, Resolve takes the fastest available.
//
// A backend that was asked for and is not available is an error. Resolve falls back to the Go backend only if nothing was asked
// for, and not if the reason is that the cache folder cannot be used.
func Resolve(ctx context.Context, spec string) (Choice, error) {
	return machine{gpu: hasGPU, cudaPlugin: findCUDAPlugin, cpuPlugin: installCPUPlugin}.resolve(ctx, spec)
}

func (m machine) resolve(ctx context.Context, spec string) (Choice, error) {
	why := "asked for"
	if spec == "" {
		spec, why = os.Getenv(compute.ConfigEnvVar), "$"+compute.ConfigEnvVar
	}
	if spec == "" {
		return m.best(ctx)
	}
	choice, err := m.named(ctx, spec)
	if ctx.Err() != nil { // a search that was interrupted finds nothing
		return Choice{}, context.Cause(ctx)
	}
	if err != nil {
		return Choice{}, fmt.Errorf("backend %q (%s): %w", spec, why, err)
	}
	choice.Why = why
	return choice, nil
}

// best is the choice if nothing was asked for: CUDA if the machine has a GPU and its plugin, else the CPU, else Go. A cache folder that cannot
// be used is an error: the user mends that in a minute, while the Go backend would take days instead of hours.
func (m machine) best(ctx context.Context) (Choice, error) {
	why, warning := "no NVIDIA GPU", ""
	if m.gpu(ctx) {
		choice, err := m.xla(ctx, "cuda", "")
		if err == nil {
			choice.Why = "a GPU and its plugin found"
			return choice, nil
		}
		why, warning = "a GPU found, but no plugin for it", fmt.Sprintf("the CPU will compute although there is a GPU: %v", err)
	}
	choice, err := m.xla(ctx, "cpu", "")
	if err != nil && ctx.Err() == nil && !errors.Is(err, cache.ErrUnusable) && !errors.Is(err, cache.ErrMissing) {
		why, warning = "XLA is not available", fmt.Sprintf("the Go backend will compute, about 100 times slower than XLA, because: %v", err)
		choice, err = Choice{Config: nameGo, Name: nameGo, Fallback: true}, nil
	}
	choice.Why, choice.Warning = why, warning
	return choice, err
}

// named is the choice that a non-empty spec asks for.
func (m machine) named(ctx context.Context, spec string) (Choice, error) {
	name, config, _ := strings.Cut(spec, ":")
	plugin, options, _ := strings.Cut(config, ",")
	switch {
	case spec == "cpu" || spec == "cuda":
		return m.xla(ctx, spec, "")
	case name == nameXLA && plugin != "":
		return m.xla(ctx, plugin, options)
	case name == nameGo:
		return Choice{Config: spec, Name: nameGo}, nil
	}
	return Choice{}, errors.New("unknown; want cpu, cuda, go, or a GoMLX configuration such as xla:/path/to/plugin.so")
}

// xla is the choice of XLA with a plugin, "cpu", "cuda" or an absolute path, and GoMLX's options, if any.
func (m machine) xla(ctx context.Context, plugin, options string) (c Choice, err error) {
	name, path := nameXLA, plugin // of an unknown kind: Open asks the plugin
	switch file := filepath.Base(plugin); {
	case plugin == "cuda" && !m.gpu(ctx):
		err = errors.New("this machine has no NVIDIA GPU (no /dev/nvidia*, and nvidia-smi lists none)")
	case plugin == "cuda":
		name = cudaName(options)
		path, err = m.cudaPlugin(ctx)
	case plugin == "cpu" && cpuWheels[thisSystem].Requirement == "":
		err = errors.New("no XLA CPU plugin is known for " + thisSystem + ": get one from https://github.com/gomlx/pjrt-cpu-binaries/releases " +
			"or elsewhere, and give its path, --backend xla:/path/plugin.so")
	case plugin == "cpu":
		name = nameCPU
		path, err = m.cpuPlugin(ctx)
	case !filepath.IsAbs(plugin):
		err = errors.New("no plugin of this name: want cpu, cuda, or a file's absolute path")
	case pjrt.IsCUDAName(file):
		name = cudaName(options)
	case strings.Contains(strings.ToUpper(file), "CPU"):
		name = nameCPU
	}
	if err == nil {
		c.Plugin, err = filepath.EvalSymlinks(path)
	}
	return c.withPlugin(path, options, name), err
}

// cudaName is the name of a CUDA plugin with GoMLX's options, among them "tf32=false" and "notf32".
func cudaName(options string) string {
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		on, err := strconv.ParseBool(value)
		if name == "notf32" || name == "tf32" && err == nil && !on {
			return nameCUDAFloat32
		}
	}
	return nameCUDA
}
