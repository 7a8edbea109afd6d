// Package devicetest makes tests on XLA take less time.
package devicetest

import "os"

// CompileFast makes XLA compile in a third of the time, and compute slower, in this process and
// those that it starts. Call it before a backend is opened. Most tests only compile, and how code
// is emitted and optimized changes no more than the rounding of what it computes. Those of pipeline
// and cmd/ebssc keep the XLA that users have.
func CompileFast() {
	const flags = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
	if err := os.Setenv("XLA_FLAGS", flags+os.Getenv("XLA_FLAGS")); err != nil {
		panic(err)
	}
}
