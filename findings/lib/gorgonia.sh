# shellcheck shell=bash
# Sourced by findings about gorgonia and its tensor. Needs Go.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# in_gorgonia does what in_module does, and makes the modules run with a newer Go.
in_gorgonia() {
  in_module "$@" go4.org/unsafe/assume-no-moving-gc@v0.0.0-20231121144256-b99613f794b6
}
