// Package device chooses the backend on which experiments compute, see [Resolve], installs or finds
// its PJRT plugin, and checks what the machine has (command doctor).
//
// XLA is a shared library, the PJRT plugin, loaded at run time. The folders that go-xla searches do
// not count: a file left there would change results unasked. For the CPU a Python wheel pinned by
// version and SHA-256 is installed once into the user's cache folder, and verified each time before
// it is loaded. For CUDA, whose libraries have several gigabytes and must match the driver, nothing
// is installed: the plugin of `pip install "jax[cuda13]"` (or cuda12) is found in the site-packages
// of the python3 on the PATH.
package device
