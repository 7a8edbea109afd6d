package device

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/gomlx/go-xla/compute/xla"  // registers "xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/support/exceptions"

	"ebsscgo/internal/device/quiet"
)

// Choice is a backend that was decided on, and why.
type Choice struct {
	// Config is what compute.NewWithConfig takes. Plugins are given in it by their absolute path, so that GoMLX
	// never searches for or installs one itself.
	Config string

	// Name is recorded in results: "xla-cpu", "xla-cuda", "xla-cuda-float32" (without TF32), "go", or "xla" for a plugin whose
	// kind is unknown.
	Name string

	// Plugin is the absolute path of the PJRT plugin; empty for the Go backend.
	Plugin string

	// Why says in a few words what decided.
	Why string

	// Warning is one line that the user should see; empty if all is as it should be.
	Warning string
}

// The names recorded in results.
const (
	nameCPU  = "xla-cpu"
	nameCUDA = "xla-cuda"
	// Products of TF32 have another result than those of float32.
	nameCUDAFloat32 = "xla-cuda-float32"
	nameGo          = "go"
	nameXLA         = "xla"
)

func init() {
	quiet.End()
	// Plugins are resolved here and given by their paths. Code that asks GoMLX for a backend by name shall not make
	// it download one behind the user's back either.
	xla.EnableAutoInstall(false)
}

// Resolve decides on the backend, installing the CPU plugin if it is needed and missing.
//
// spec is "cpu" or "cuda" (XLA with that plugin), "go", or any GoMLX configuration such as "xla:/path/plugin.so" or
// "xla:cuda,tf32=false". If it is empty, $GOMLX_BACKEND is taken; if that is empty too, the best that is there.
//
// What was asked for is had or is an error; the fall-back to the Go backend happens only if nothing was asked for, and not
// where it is the cache folder that cannot be used.
func Resolve(ctx context.Context, spec string) (Choice, error) {
	return thisMachine().resolve(ctx, spec)
}

// Open resolves spec (see Resolve) and starts the backend, which the caller finalizes. It has at least that many devices: of
// XLA on the CPU as many as are asked for, which share its cores, and of all others those that are there.
func Open(ctx context.Context, spec string, devices int) (compute.Backend, Choice, error) {
	choice, err := Resolve(ctx, spec)
	if err != nil {
		return nil, Choice{}, err
	}
	if choice.CUDA() {
		if choice.Warning, err = prepareCUDA(ctx, choice); err != nil {
			return nil, Choice{}, err
		}
	}
	var opened compute.Backend
	err = try(func() (err error) {
		opened, err = choice.start(devices)
		return err
	})
	if err != nil {
		err = fmt.Errorf("backend %q does not start: %w", choice.Config, err)
		if choice.CUDA() && choice.Warning != "" {
			err = fmt.Errorf("%w; %s", err, choice.Warning)
		}
		return nil, Choice{}, err
	}
	if has := opened.NumDevices(); has < devices {
		opened.Finalize()
		return nil, Choice{}, fmt.Errorf("backend %s has %d device(s), not %d: ask for fewer with --devices, or for another --backend (cpu has any number, for trying out)",
			choice.Name, has, devices)
	}
	return opened, choice, nil
}

// start starts the backend. For one device nothing is said of their number, and the CPU's plugin has four.
func (c Choice) start(devices int) (compute.Backend, error) {
	if c.Name != nameCPU || devices <= 1 {
		return compute.NewWithConfig(c.Config)
	}
	_, config, _ := strings.Cut(c.Config, ":")
	return xla.NewWithOptions(config, pjrt.NamedValuesMap{"cpu_device_count": int64(devices)})
}

// try runs f and returns its error, or the error that it panicked with: GoMLX panics about a backend that it does
// not know, and go-xla about a plugin that it cannot load.
func try(f func() error) (err error) {
	if panicked := exceptions.TryCatch[error](func() { err = f() }); panicked != nil {
		return panicked
	}
	return err
}
