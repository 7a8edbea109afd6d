#!/usr/bin/env bash
# arrow-go 18.8.0 × pyarrow 26.0.1: a fixed-size list that is a slice is written to Parquet with the
# values of the first lists of its parent (fixedSizeRangeSelector of pqarrow/path_builder.go knows
# no offset). WriteTable slices a table into row groups itself. So each row group repeats the
# vectors of the first beside the right labels, and a test set, cut off as a slice, has vectors of
# training. Lists of any length are right, and so is Arrow's own file format. Guess before: all as
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

func main() {
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "label", Type: arrow.PrimitiveTypes.Int32},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
		{Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)},
	}, nil))
	labels := builder.Field(0).(*array.Int32Builder)
	vectors := builder.Field(1).(*array.FixedSizeListBuilder)
	lists := builder.Field(2).(*array.ListBuilder)
	for i := range 4 {
		labels.Append(int32(i))
		vectors.Append(true)
		lists.Append(true)
		for range 2 {
			vectors.ValueBuilder().(*array.Float32Builder).Append(float32(i))
			lists.ValueBuilder().(*array.Float32Builder).Append(float32(i))
		}
	}
	whole := builder.NewRecordBatch()
	write("table.parquet", whole, 2)
	write("slice.parquet", whole.NewSlice(3, 4), 1)
}

// write writes a batch as a table in row groups of some rows.
func write(name string, batch arrow.RecordBatch, rows int64) {
	table := array.NewTableFromRecords(batch.Schema(), []arrow.RecordBatch{batch})
	file, err := os.Create(name)
	if err == nil {
		err = pqarrow.WriteTable(table, file, rows, parquet.NewWriterProperties(),
			pqarrow.DefaultWriterProps())
	}
	if err != nil {
		panic(err)
	}
}
GO
expect_in_python 'table.parquet
  label [0, 1, 2, 3]
  vector [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
  list [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
slice.parquet
  label [3]
  vector [[0.0, 0.0]]
  list [[3.0, 3.0]]' <<'PY'
import pyarrow.parquet

for name in "table.parquet", "slice.parquet":
    columns = pyarrow.parquet.read_table(name).to_pydict()
    print(name, *(f"{key} {values}" for key, values in columns.items()), sep="\n  ")
PY
