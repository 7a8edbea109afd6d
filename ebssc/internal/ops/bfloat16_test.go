package ops

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"ebsscgo/internal/device"
	"ebsscgo/internal/filetest"
)

// dumpVar names, to the process that TestBFloat16 starts, the folder for the compiled programs.
const dumpVar = "TEST_DUMP"

// In bfloat16 oneDNN computes the convolution and its gradient in x, and values are near float32's.
// The gradient in d is three products, no convolution: oneDNN would take a minute for it. The
// program takes these products with AMX, without it Winograd's transforms, for large kernels in
// bfloat16. All are tested on every CPU. XLA reads its flags once, so another process compiles.
// Without instructions for bfloat16 it is refused.
func TestBFloat16(t *testing.T) {
	if dump := os.Getenv(dumpVar); dump != "" {
		const dumpFlags = " --xla_dump_hlo_as_text --xla_dump_to="
		require.NoError(t, device.UseBFloat16(t.Context(), "cpu"))
		require.NoError(t, os.Setenv("XLA_FLAGS", os.Getenv("XLA_FLAGS")+dumpFlags+dump))
		backend, err := open("cpu")
		require.NoError(t, err)
		c := convolution{8, 32, 32, 128, 8, 3, 1, 1} // several chunks of the batch, as in networks
		wantY, wantDX, wantDD := c.run(on(t, "go"), Impl{Plain: true})
		y, dx, dd := c.run(backend, Impl{BFloat16: true})
		requireClose(t, wantY, y, 0.01, "value")
		requireClose(t, wantDX, dx, 0.01, "gradient in x")
		requireClose(t, wantDD, dd, 0.01, "gradient in d")
		require.NotEqual(t, wantY, y)
		x, d, v := c.operands()
		products := MustExecOnce(backend, bfloat16KernelGradient, x, v)
		requireClose(t, wantDD, values(products), 0.01, "gradient in d by products")
		transforms := MustExecOnceN(backend, func(x, d, v *Node) []*Node {
			return []*Node{bfloat16Winograd.value(x, d), bfloat16Winograd.kernelGradient(x, v)}
		}, x, d, v)
		requireClose(t, wantY, values(transforms[0]), 0.03, "value by transforms")
		requireClose(t, wantDD, values(transforms[1]), 0.03, "gradient in d by transforms")
		return
	}
	if !cpu.X86.HasAVX512BF16 && !cpu.X86.HasAMXBF16 {
		require.ErrorContains(t, device.UseBFloat16(t.Context(), "cpu"),
			"this CPU has neither avx512_bf16 nor amx_bf16")
		return
	}
	dump := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), dumpVar+"="+dump, "XLA_FLAGS=") // without those of fast tests
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	files, err := filepath.Glob(filepath.Join(dump, "*cpu_after_optimizations.txt"))
	require.NoError(t, err)
	require.Len(t, files, 3) // the convolution, the products alone, the transforms alone
	var programs string
	for _, file := range files {
		programs += filetest.Read(t, file)
	}
	require.NotContains(t, programs, " convolution(")
	var results []string
	calls := regexp.MustCompile(`= \(?(\S+?)\{.* custom-call\(.*"__onednn\$convolution"`)
	for _, call := range calls.FindAllStringSubmatch(programs, -1) {
		results = append(results, call[1])
	}
	require.ElementsMatch(t, []string{"bf16[8,32,32,8]", "bf16[8,32,32,128]"}, results)
	products := regexp.MustCompile(`= \(?bf16\[128,24\]\{.* custom-call\(.*"__onednn\$matmul"`)
	want := 3 // of the products alone
	if cpu.X86.HasAMXBF16 {
		want += 3
	}
	require.Len(t, products.FindAllString(programs, -1), want)
}
