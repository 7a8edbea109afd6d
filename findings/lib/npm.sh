# shellcheck shell=bash
# Sourced by findings about npm packages. Needs Node 20 or later with npm.

# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"

# run_node runs a JavaScript program, read from standard input, that needs the npm packages that
# are named after its output, which must be the first argument. It runs in a temporary folder, which
# is removed when the script ends.
run_node() {
  in_folder
  echo '{"private": true}' > package.json
  npm install --silent --no-audit --no-fund --ignore-scripts --save-exact "${@:2}"
  cat > main.js
  expect "$1" node main.js
}
