package device

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/gomlx/go-xla/compute/xla"  // registers "xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/internal/cache"
)

// Choice is the backend that was chosen, and why.
type Choice struct {
	// Config is the argument of compute.NewWithConfig. It names plugins by their absolute path, so that GoMLX neither searches
	// for one nor installs it.
	Config string
	// Name is recorded in results: "xla-cpu", "xla-cuda", "xla-cuda-float32" (without TF32), "go", or "xla" for a plugin of
	// unknown kind.
	Name string
	// Plugin is the absolute path of the PJRT plugin, without symbolic links; empty for the Go backend.
	Plugin string
	// Why is the reason for the choice in a few words, and Warning is a line for the user, empty if there is nothing to warn of.
	Why, Warning string
	// Fallback is true if nobody asked for the Go backend, and it computes only because XLA could not be installed: Warning
	// says why. A program whose results must have the backend that was planned should refuse it.
	Fallback bool
}

const (
	nameCPU         = "xla-cpu"
	nameCUDA        = "xla-cuda"
	nameCUDAFloat32 = "xla-cuda-float32"
	nameGo          = "go"
	nameXLA         = "xla"
)

func init() {
	// Code that asks GoMLX for a backend by name must not download a plugin either.
	xla.EnableAutoInstall(false)
}

// CUDA reports whether an NVIDIA GPU computes.
func (c Choice) CUDA() bool { return c.Name == nameCUDA || c.Name == nameCUDAFloat32 }

// GPU is the name of the GPU that computes, as nvidia-smi gives it; empty if none does, or if nvidia-smi fails.
func (c Choice) GPU() string {
	if !c.CUDA() {
		return ""
	}
	names, _ := ask(context.Background(), "nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
	first, _, _ := strings.Cut(names, "\n")
	return first
}

// Open resolves spec (see [Resolve]) and starts the backend, which the caller finalizes. The backend has at least that many
// devices: XLA on the CPU makes as many as needed, which share its cores; other backends have those of the machine.
func Open(ctx context.Context, spec string, devices int) (compute.Backend, Choice, error) {
	choice, err := Resolve(ctx, spec)
	if err != nil {
		return nil, Choice{}, err
	}
	if choice.CUDA() {
		prepareCUDA(choice)
	}
	opened, err := choice.start(devices)
	if err == nil && choice.Name == nameXLA && strings.Contains(strings.ToUpper(opened.DeviceDescription(0)), "CPU") {
		opened.Finalize()
		if choice, err = choice.renamedCPU(); err == nil {
			opened, err = choice.start(devices)
		}
	}
	if err != nil {
		err = fmt.Errorf("backend %q does not start: %w; choose another with --backend (cpu, go), or see ebssc doctor", choice.Config, err)
		if choice.CUDA() {
			err = fmt.Errorf("%w; if a library of NVIDIA's is missing, %s", err, installCUDA)
		}
		return nil, Choice{}, err
	}
	if has := opened.NumDevices(); has < devices {
		opened.Finalize()
		return nil, Choice{}, fmt.Errorf("backend %s has fewer than %d devices: ask for at most %d with --devices, or for another --backend "+
			"(cpu has any number, for trying out)", choice.Name, devices, has)
	}
	return opened, choice, nil
}

// start starts the backend. For one device the CPU plugin's own default, four, is left as it is. GoMLX panics if it does not know a
// backend, and go-xla if it cannot load a plugin: that is an error, too.
func (c Choice) start(devices int) (opened compute.Backend, err error) {
	panicked := exceptions.TryCatch[error](func() {
		if c.Name != nameCPU || devices <= 1 {
			opened, err = compute.NewWithConfig(c.Config)
			return
		}
		_, config, _ := strings.Cut(c.Config, ":")
		opened, err = xla.NewWithOptions(config, pjrt.NamedValuesMap{"cpu_device_count": int64(devices)})
	})
	return opened, errors.Join(panicked, err)
}

// renamedCPU is the choice of a CPU plugin that lies under any name, by a link in the cache folder whose name says so: go-xla and this
// program's fast operations know a CPU plugin by its path alone.
func (c Choice) renamedCPU() (Choice, error) {
	dir, err := cache.Dir()
	if err != nil {
		return c, err
	}
	link := filepath.Join(dir, "plugins", fmt.Sprintf("cpu-%.8x.so", sha256.Sum256([]byte(c.Plugin))))
	err = os.MkdirAll(filepath.Dir(link), 0o755)
	if err == nil {
		err = os.Symlink(c.Plugin, link)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return c, cache.Explain(err)
	}
	_, options, _ := strings.Cut(c.Config, ",")
	return c.withPlugin(link, options, nameCPU), nil
}

func (c Choice) withPlugin(path, options, name string) Choice {
	c.Config, c.Name = strings.TrimSuffix("xla:"+path+","+options, ","), name
	return c
}
