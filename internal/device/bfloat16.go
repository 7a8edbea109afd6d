package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/cpu"

	"ebsscgo/internal/cache"
	"ebsscgo/internal/safefile"
)

// bfloat16Wheel is the pinned CPU plugin with the rewriter that gives convolutions in bfloat16 to
// oneDNN: 201,600,336 bytes, PJRT API 0.115, of a package that builds the XLA of jaxlib.
var bfloat16Wheel = cache.WheelFile{
	Requirement:  "lammps-jax-pjrt-cpu==0.11.2",
	WheelSHA256:  "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
	Member:       "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
	MemberSHA256: "ad1309ac822b1b24d51b7f9947c7c9fa9ef5d67f390584cbc3d1fa2428fed9c2",
	Room:         270 << 20,
}

var errNoBFloat16 = errors.New("precision=bfloat16: this CPU has neither avx512_bf16 nor " +
	"amx_bf16: leave it out")

func hasBFloat16() bool { return cpu.X86.HasAVX512BF16 || cpu.X86.HasAMXBF16 }

// UseBFloat16 makes "cpu" a plugin whose oneDNN computes convolutions in bfloat16, for all that
// the process compiles: XLA reads its flags once, so call it before [Open]. It lets XLA use
// vectors of 512 bits, with which a training step takes 0.93 to 0.96 of the time on a Zen 5
// (64×48). It returns an error if the CPU has no instructions for bfloat16, or the backend that
// spec names no rewriter to oneDNN.
func UseBFloat16(ctx context.Context, spec string) error {
	if !hasBFloat16() {
		return errNoBFloat16
	}
	fetch := func(ctx context.Context, _ cache.WheelFile) (*os.File, error) {
		return cache.Fetch(ctx, bfloat16Wheel)
	}
	choice, err := thisMachine(fetch).resolve(ctx, spec)
	if err != nil {
		return fmt.Errorf("precision=bfloat16: %w", err)
	}
	plugin, err := safefile.Read(choice.Plugin, 1<<30)
	if err != nil || choice.CUDA() || !bytes.Contains(plugin, []byte("onednn-contraction-rewriter")) {
		return errNoOneDNN(choice)
	}
	if err := addFlag("--xla_cpu_experimental_onednn_custom_call", "true"); err != nil {
		return err
	}
	cpuWheels[thisSystem] = bfloat16Wheel
	return preferWideVectors()
}

func errNoOneDNN(c Choice) error {
	return fmt.Errorf("precision=bfloat16: backend %s cannot give convolutions to oneDNN: "+
		"choose --backend cpu, or leave the precision out", c.Config)
}

// CheckFloat32 returns an error if [UseBFloat16] has changed what the process computes with: runs
// in float32 would not have the bits that they have alone.
func CheckFloat32() error {
	if cpuWheels[thisSystem] == bfloat16Wheel {
		return errors.New("this process has computed in bfloat16, so its float32 would have other " +
			"bits: train in float32 in another one (in a notebook, another cell)")
	}
	return nil
}
