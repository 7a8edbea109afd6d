# shellcheck shell=bash
# Sourced by findings about Rust crates. Needs Rust with cargo.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# run_rust runs a Rust program, read from standard input, in a temporary folder, which is removed
# when the script ends. It needs the crates that are named after the first argument, each as
# name@version. Its output must be the first argument.
run_rust() {
  local crate
  in_folder
  export CARGO_TARGET_DIR=$PWD/target
  mkdir src
  cat > src/main.rs
  {
    printf '[package]\nname = "finding"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\n'
    for crate in "${@:2}"; do
      printf '%s = "=%s"\n' "${crate%@*}" "${crate#*@}"
    done
  } > Cargo.toml
  expect "$1" cargo run --quiet
}
