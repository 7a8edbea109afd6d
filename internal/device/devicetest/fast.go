// Package devicetest makes tests on XLA take less time.
package devicetest

import "os"

// CompileFast makes XLA compile in less time, and compute slower, in this process and those that it
// starts: tests mostly compile. How code is emitted and optimized changes only the rounding of what
// it computes. Call it before a backend is opened. Tests of pipeline and cmd/ebssc do not: they run
// the code that users run.
func CompileFast() {
	const flags = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
	if err := os.Setenv("XLA_FLAGS", flags+os.Getenv("XLA_FLAGS")); err != nil {
		panic(err)
	}
}
