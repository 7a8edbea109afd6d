//go:build !cgo

package device

// XLA is reached through cgo. Without it the go command says so, by the name of this import, before
// it compiles what else is missing then.
import _ "cgo_is_needed/install_gcc_or_clang_and_set_CGO_ENABLED_to_1"
