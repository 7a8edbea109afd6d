#!/usr/bin/env bash
# carquet 0.7.2 (a reader and writer of Parquet) reads decimal numbers without their scale and says
# nothing: an accuracy of 0.9312 is 9312, and a price of 12.50 is 1250. A DECIMAL column of Parquet
# holds integers, and its type says by which power of ten they are divided. Where carquet makes
# Arrow types of Parquet types it knows no decimals, so that the type of the stored integers is left
# (or that of raw bytes, where a writer stores decimals as bytes, as PyArrow does by default). Means
# and sums are then wrong by a factor for each column. What carquet writes from an Arrow decimal it
# can't read back either. Guess before, from its documentation (it opens what DuckDB and PyArrow
# write; a table that it has written is equal to the one it reads): the numbers that PyArrow reads.
# Here: a file by DuckDB with its default options, read by PyArrow and by carquet, whole and through
# its schema; then a table of two decimals, written by carquet.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps carquet==0.7.2 pyarrow==26.0.1 duckdb==2.0.1
cat > decimals.py <<'PY'
from decimal import Decimal

import carquet
import duckdb
import pyarrow
import pyarrow.compute
import pyarrow.parquet

duckdb.sql("""
    copy (from (values (1, 0.9312::decimal(5, 4), 12.50::decimal(12, 2)), (2, 0.9458, 1.50))
        runs(seed, accuracy, price)) to 'runs.parquet'
""")
for reader in pyarrow.parquet, carquet:
    table = reader.read_table("runs.parquet")
    for name in "seed", "accuracy", "price":
        values = ", ".join(map(str, table[name].to_pylist()))
        mean = pyarrow.compute.mean(table[name])
        print(f"{reader.__name__}: {name} {values} ({table[name].type}), mean {mean}")
print("schema:", *(f"{field.name} {field.type}" for field in carquet.schema("runs.parquet")))
prices = pyarrow.table({"price": pyarrow.array([Decimal("12.50"), Decimal("1.50")])})
carquet.write_table(prices, "prices.parquet")
table = carquet.read_table("prices.parquet")
print("written by carquet:", table["price"].type, table["price"].to_pylist()[0].hex())
PY
expect 'pyarrow.parquet: seed 1, 2 (int32), mean 1.5
pyarrow.parquet: accuracy 0.9312, 0.9458 (decimal128(5, 4)), mean 0.9385
pyarrow.parquet: price 12.50, 1.50 (decimal128(12, 2)), mean 7.00
carquet: seed 1, 2 (int32), mean 1.5
carquet: accuracy 9312, 9458 (int32), mean 9385.0
carquet: price 1250, 150 (int64), mean 700.0
schema: seed int32 accuracy int32 price int64
written by carquet: fixed_size_binary[2] 04e2' python3 decimals.py
