#!/usr/bin/env bash
# arrow-go 18.8.0 × pyarrow 26.0.1: bools, written to Parquet with run lengths (RLE), are right in
# the first page of a row group only: every page has the values of all pages before it in front, so
# that a reader sees the first page again (RleBooleanEncoder.FlushValues keeps bufferedValues). Of
# labels that are sorted, half of them true, none is true. A page of 1 MiB, the default, holds four
# million bools, a smaller one, which gives a page index its use, thousands. Guess before: as
# written.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

in_module github.com/apache/arrow-go/v18@v18.8.0
with_python pyarrow==26.0.1
cat > main.go <<'GO'
package main

import (
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const rows = 20_000

// main writes bools, the second half of them true, plainly and with run lengths.
func main() {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "plain", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "rle", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		for column := range 2 {
			builder.Field(column).(*array.BooleanBuilder).Append(i >= rows/2)
		}
	}
	file, err := os.Create("bools.parquet")
	if err != nil {
		panic(err)
	}
	writer, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(
		parquet.WithDataPageSize(1000),
		parquet.WithEncodingFor("rle", parquet.Encodings.RLE),
		parquet.WithDictionaryFor("rle", false),
	), pqarrow.DefaultWriterProps())
	if err == nil {
		err = writer.Write(builder.NewRecordBatch())
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		panic(err)
	}
}
GO
expect_in_python 'plain: 10000 true, 10000 false
rle: 0 true, 20000 false' <<'PY'
import pyarrow.parquet

table = pyarrow.parquet.read_table("bools.parquet")
for name in table.column_names:
    values = table[name].to_pylist()
    print(f"{name}: {values.count(True)} true, {values.count(False)} false")
PY
