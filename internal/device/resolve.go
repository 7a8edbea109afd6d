package device

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/pjrt"

	"ebsscgo/internal/cache"
)

// machine is what the choice depends on; tests replace it by a made-up one.
type machine struct {
	plugins   func() (map[string]string, error)            // plugins that go-xla finds: name to absolute path
	gpu       func(context.Context) bool                   // whether the machine has an NVIDIA GPU
	cudaWheel func(context.Context) (path string, ok bool) // the CUDA plugin installed by pip
	cpu       source                                       // of the CPU plugin
}

// thisMachine is the machine that the program runs on.
func thisMachine() machine {
	return machine{
		plugins:   findPlugins,
		gpu:       hasGPU,
		cudaWheel: findCUDAWheel,
		cpu:       cpuSource(thisSystem),
	}
}

// resolve is Resolve for machine m.
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

// best is the choice if nothing was asked for. A cache folder that cannot be used, or a broken plugin, is an error: the user mends that in a
// minute, while the Go backend would take days instead of hours.
func (m machine) best(ctx context.Context) (Choice, error) {
	choice, err := m.bestXLA(ctx, "")
	if err == nil || ctx.Err() != nil || errors.Is(err, cache.ErrUnusable) || errors.Is(err, errBrokenPlugin) {
		return choice, err
	}
	return Choice{
		Config:   nameGo,
		Name:     nameGo,
		Why:      "XLA is not available",
		Warning:  fmt.Sprintf("the Go backend will compute, about 100 times slower than XLA, because: %v", err),
		Fallback: true,
	}, nil
}

// bestXLA is CUDA if the machine has a GPU and its plugin, else the CPU.
func (m machine) bestXLA(ctx context.Context, options string) (Choice, error) {
	why, warning := "no NVIDIA GPU", ""
	if m.gpu(ctx) {
		choice, err := m.xla(ctx, "cuda", options)
		if err == nil {
			choice.Why = "a GPU and its plugin found"
			return choice, nil
		}
		why, warning = "a GPU found, but no plugin for it", fmt.Sprintf("the CPU will compute although there is a GPU: %v", err)
	}
	choice, err := m.xla(ctx, "cpu", options)
	choice.Why, choice.Warning = why, warning
	return choice, err
}

// named is the choice that a non-empty spec asks for.
func (m machine) named(ctx context.Context, spec string) (Choice, error) {
	if spec == "cpu" || spec == "cuda" {
		spec = "xla:" + spec
	}
	name, config, _ := strings.Cut(spec, ":")
	switch name {
	case nameGo:
		return Choice{Config: spec, Name: nameGo}, nil
	case nameXLA, "stablehlo", "shlo", "hlo": // GoMLX's names of one backend
		plugin, options, _ := strings.Cut(config, ",")
		if plugin == "" {
			return m.bestXLA(ctx, options)
		}
		return m.xla(ctx, plugin, options)
	}
	return Choice{}, errors.New("unknown; want cpu, cuda, go, or a GoMLX configuration such as xla:/path/to/plugin.so")
}

// xla is the choice of XLA with a plugin (see find) and GoMLX's options, if any.
func (m machine) xla(ctx context.Context, plugin, options string) (Choice, error) {
	path, err := m.find(ctx, plugin)
	if err != nil {
		return Choice{}, err
	}
	choice := Choice{Config: "xla:" + path, Name: nameXLA, Plugin: path}
	if options != "" {
		choice.Config += "," + options
	}
	// go-xla, too, derives the kind of other plugins from their paths.
	switch {
	case plugin == "cuda", plugin != "cpu" && pjrt.IsCUDAName(filepath.Base(path)):
		choice.Name = cudaName(options)
	case plugin == "cpu", strings.Contains(strings.ToUpper(filepath.Base(path)), "CPU"):
		choice.Name = nameCPU
	}
	return choice, nil
}

// find returns the absolute path of a plugin: "cpu", which it installs if it is missing, "cuda", which may be installed by pip,
// any other name that go-xla finds, or an absolute path.
func (m machine) find(ctx context.Context, plugin string) (string, error) {
	if filepath.IsAbs(plugin) {
		if _, err := os.Stat(plugin); err != nil {
			return "", fmt.Errorf("no plugin: %w", err)
		}
		return plugin, nil
	}
	if plugin == "cuda" && !m.gpu(ctx) {
		return "", errors.New("this machine has no NVIDIA GPU (no /dev/nvidia*, and nvidia-smi lists none)")
	}
	found, err := m.plugins()
	if err != nil {
		return "", err
	}
	if path, ok := pick(found, plugin); ok {
		return path, nil
	}
	switch plugin {
	case "cpu":
		return m.cpu.install(ctx)
	case "cuda":
		if path, ok := m.cudaWheel(ctx); ok {
			return path, nil
		}
		return "", errors.New("no CUDA plugin; " + installCUDA)
	}
	return "", fmt.Errorf("no plugin of this name; found %q (a file is given by its absolute path)",
		slices.Sorted(maps.Keys(found)))
}

// pick returns the plugin called name, or else the last whose name is that with a version ("cpu_v0.114.0").
func pick(found map[string]string, name string) (path string, ok bool) {
	if path, ok := found[name]; ok {
		return path, true
	}
	for _, candidate := range slices.Backward(slices.Sorted(maps.Keys(found))) {
		if strings.HasPrefix(candidate, name+"_v") {
			return found[candidate], true
		}
	}
	return "", false
}
