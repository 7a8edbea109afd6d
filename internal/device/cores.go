package device

import "runtime"

// Cores is the number of cores that the process may use: those that it is bound to, or fewer where a container has a quota of processor time.
func Cores() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }
