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

// Choice is the backend that was chosen, and why.
type Choice struct {
	// Config is the argument of compute.NewWithConfig. It names plugins by their absolute path, so that GoMLX neither searches
	// for one nor installs it.
	Config string

	// Name is recorded in results: "xla-cpu", "xla-cuda", "xla-cuda-float32" (without TF32), "go", or "xla" for a plugin of
	// unknown kind.
	Name string

	// Plugin is the absolute path of the PJRT plugin; empty for the Go backend.
	Plugin string

	// Why is the reason for the choice in a few words.
	Why string

	// Warning is one line for the user; empty if there is nothing to warn of.
	Warning string

	// Fallback is true if nobody asked for the Go backend, and it computes only because XLA could not be installed: Warning
	// says why. A program whose results must have the backend that was planned should refuse it.
	Fallback bool
}

// The names recorded in results.
const (
	nameCPU  = "xla-cpu"
	nameCUDA = "xla-cuda"
	// Products in TF32 differ from those in float32.
	nameCUDAFloat32 = "xla-cuda-float32"
	nameGo          = "go"
	nameXLA         = "xla"
)

func init() {
	quiet.End()
	// Code that asks GoMLX for a backend by name must not download a plugin either.
	xla.EnableAutoInstall(false)
}

// CPU says whether XLA computes on the CPU.
func (c Choice) CPU() bool { return c.Name == nameCPU }

// Resolve chooses the backend, and installs the CPU plugin if that is needed and missing.
//
// spec is "cpu" or "cuda" (XLA with that plugin), "go", or any GoMLX configuration such as "xla:/path/plugin.so" or
// "xla:cuda,tf32=false". If it is empty, $GOMLX_BACKEND counts; if that is empty too, Resolve takes the fastest available.
//
// A backend that was asked for and is not available is an error. Resolve falls back to the Go backend only if nothing was asked
// for, and not if the reason is that the cache folder cannot be used.
func Resolve(ctx context.Context, spec string) (Choice, error) {
	return thisMachine().resolve(ctx, spec)
}

// Open resolves spec (see [Resolve]) and starts the backend, which the caller finalizes. The backend has at least that many
// devices: XLA on the CPU makes as many as needed, which share its cores; other backends have those of the machine.
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
		err = fmt.Errorf("backend %q does not start: %w; choose another with --backend (cpu, go), or see ebssc doctor", choice.Config, err)
		if choice.CUDA() && choice.Warning != "" {
			err = fmt.Errorf("%w; %s", err, choice.Warning)
		}
		return nil, Choice{}, err
	}
	if has := opened.NumDevices(); has < devices {
		opened.Finalize()
		return nil, Choice{}, fmt.Errorf("backend %s has fewer than %d devices: ask for at most %d with --devices, or for another --backend (cpu has any number, for trying out)",
			choice.Name, devices, has)
	}
	return opened, choice, nil
}

// start starts the backend. For one device the CPU plugin's own default, four, is left as it is.
func (c Choice) start(devices int) (compute.Backend, error) {
	if !c.CPU() || devices <= 1 {
		return compute.NewWithConfig(c.Config)
	}
	_, config, _ := strings.Cut(c.Config, ":")
	return xla.NewWithOptions(config, pjrt.NamedValuesMap{"cpu_device_count": int64(devices)})
}

// try runs f and returns its error, or the error that it panicked with: GoMLX panics if it does not know a backend, and go-xla
// if it cannot load a plugin.
func try(f func() error) (err error) {
	if panicked := exceptions.TryCatch[error](func() { err = f() }); panicked != nil {
		return panicked
	}
	return err
}
