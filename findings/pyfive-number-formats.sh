#!/usr/bin/env bash
# pyfive 1.3.0 (a reader of HDF5 in Python, with the API of h5py) takes a number for the usual type
# of its size, whatever the file says about its bits, and tells nobody:
# 1. A bfloat16 (8 bits of exponent; a predefined type since HDF5 2) is read as a float16 (5 bits):
#    weights of 1, -0.5, 300 and 0.001 are 1.875, -1.75, 3.79 and 0.81.
# 2. Integers of fewer bits than their bytes, such as those of 12-bit cameras, keep their padding:
#    -1 is 4095, and values that are stored in the upper bits are 16 times as large.
# 3. Of a table with 300 columns 60 are left, as their number is put together from two bytes with a
#    shift of 4 bits in place of 8. The others are gone without a word.
# The format states the position and size of exponent, mantissa and integer; pyfive skips them.
# Guess before, from its documentation (what h5py reads and pyfive doesn't is an error to report):
# the numbers and columns of h5py, or an exception. Here: a file that h5py writes and both read.
# Needs Python 3.11 or later with pip.
set -euo pipefail
# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/python.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
with_python --no-deps pyfive==1.3.0 h5py==3.16.0 numpy==2.4.6 numcodecs==0.16.6 fsspec==2026.9.0 \
  typing-extensions==4.16.0
cat > formats.py <<'PY'
import h5py
import numpy
import pyfive

bfloat16 = h5py.h5t.IEEE_F32LE.copy()
bfloat16.set_fields(15, 7, 8, 0, 7)  # sign, exponent, mantissa
bfloat16.set_precision(16)
bfloat16.set_size(2)
int12 = h5py.h5t.STD_I16LE.copy()
int12.set_precision(12)
upper12 = h5py.h5t.STD_U16LE.copy()
upper12.set_precision(12)
upper12.set_offset(4)

with h5py.File("numbers.h5", "w") as file:
    for name, kind, values in (
        ("float16", h5py.h5t.IEEE_F16LE, numpy.array([1, -0.5, 300, 0.001], "float16")),
        ("bfloat16", bfloat16, numpy.array([1, -0.5, 300, 0.001], "float32")),
        ("int16", h5py.h5t.STD_I16LE, numpy.array([-1, 5, -2000, 2000], "int16")),
        ("int12", int12, numpy.array([-1, 5, -2000, 2000], "int16")),
        ("upper 12 bits", upper12, numpy.array([1, 5, 300, 2000], "uint16")),
    ):
        space = h5py.h5s.create_simple(values.shape)
        data = h5py.h5d.create(file.id, name.encode(), kind, space)
        data.write(h5py.h5s.ALL, h5py.h5s.ALL, values)
    for columns in 250, 300:
        fields = [(f"c{i}", "f4") for i in range(columns)]
        file[f"table of {columns} columns"] = numpy.zeros(2, fields)

with h5py.File("numbers.h5") as reference, pyfive.File("numbers.h5") as file:
    for name in sorted(reference):
        for reader, data in ("h5py", reference[name][:]), ("pyfive", file[name][:]):
            shown = [len(data.dtype.names)] if data.dtype.names else data.tolist()
            print(f"{name}, {reader}:", *(f"{number:.5g}" for number in shown))
PY
expect 'bfloat16, h5py: 1 -0.5 300 0.00099945
bfloat16, pyfive: 1.875 -1.75 3.793 0.81396
float16, h5py: 1 -0.5 300 0.0010004
float16, pyfive: 1 -0.5 300 0.0010004
int12, h5py: -1 5 -2000 2000
int12, pyfive: 4095 5 2096 2000
int16, h5py: -1 5 -2000 2000
int16, pyfive: -1 5 -2000 2000
table of 250 columns, h5py: 250
table of 250 columns, pyfive: 250
table of 300 columns, h5py: 300
table of 300 columns, pyfive: 60
upper 12 bits, h5py: 1 5 300 2000
upper 12 bits, pyfive: 16 80 4800 32000' python3 formats.py
