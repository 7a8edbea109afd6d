#!/usr/bin/env bash
# parquet-go 0.32.0 × PyArrow 26.0.1: of a column compressed with LZ4 it reads other numbers than were
# written, without an error, unless a page shrank to less than a third. What its decoder returns in a
# larger buffer than it was given is lost. PyArrow reads the file, and parquet-go the same numbers
# with Snappy, gzip, Brotli or Zstandard. Guess before: what it does not read well is an error.
# Needs Go, and Python 3 with pip.
set -euo pipefail
# shellcheck source=findings/lib/go.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/go.sh"

in_module github.com/parquet-go/parquet-go@v0.32.0
python3 -m pip install --quiet --target python pyarrow==26.0.1
PYTHONPATH=python python3 - <<'PY'
import pyarrow, pyarrow.parquet, random
table = pyarrow.table({"x": pyarrow.array([random.randrange(2**31) for _ in range(1000)], "int32")})
for codec in "snappy", "gzip", "brotli", "zstd", "lz4":
    pyarrow.parquet.write_table(table, codec, compression=codec)
    assert pyarrow.parquet.read_table(codec) == table
PY
cat > main.go <<'GO'
package main

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	X int32 `parquet:"x"`
}

func main() {
	var written []row
	for _, codec := range []string{"snappy", "gzip", "brotli", "zstd", "lz4"} {
		read, err := parquet.ReadFile[row](codec)
		if written == nil {
			written = read
		}
		other := 0
		for i := range read {
			if read[i] != written[i] {
				other++
			}
		}
		fmt.Printf("%s: %d rows, %d other than written, error: %v\n", codec, len(read), other, err)
	}
}
GO
expect 'snappy: 1000 rows, 0 other than written, error: <nil>
gzip: 1000 rows, 0 other than written, error: <nil>
brotli: 1000 rows, 0 other than written, error: <nil>
zstd: 1000 rows, 0 other than written, error: <nil>
lz4: 1000 rows, 1000 other than written, error: <nil>' go run .
