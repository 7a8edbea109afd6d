# shellcheck shell=bash
# Sourced by findings about onnx-gomlx 0.5.0 with onnxruntime 1.32.0.
# Needs Go, and Python 3 with pip.

# shellcheck source=findings/lib/python.sh
source "$(dirname "${BASH_SOURCE[0]}")/python.sh"

# compare_onnx runs ONNX models, which Python code on standard input makes with model(title, opset,
# input, outputs, node, ...), in onnxruntime and in onnx-gomlx on the Go backend. The output must be
# the argument.
compare_onnx() {
  in_module github.com/gomlx/onnx-gomlx@v0.5.0
  with_python onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
  cat > models.py
  cat > run.py <<'PY'
import json

import numpy
import onnx
import onnxruntime

titles = []


def constant(name, *values):
    value = onnx.numpy_helper.from_array(numpy.array(values))
    return onnx.helper.make_node("Constant", [], [name], value=value)


def model(title, opset, values, outputs, *nodes):
    values = numpy.array(values, numpy.float32)
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "graph",
        [onnx.helper.make_tensor_value_info("x", kind, values.shape)],
        [onnx.helper.make_tensor_value_info(name, kind, [None] * values.ndim) for name in outputs],
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    made = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.checker.check_model(made)
    onnx.save(made, f"{len(titles)}.onnx")
    session = onnxruntime.InferenceSession(made.SerializeToString())
    for result in session.run(None, {"x": values}):
        numbers = " ".join(f"{number:.3g}" for number in result.flat)
        dimensions = " ".join(map(str, result.shape))
        print(f"{title}, onnxruntime: [{numbers}] of [{dimensions}]", flush=True)
    titles.append({"title": title, "shape": values.shape, "values": values.ravel().tolist()})


exec(open("models.py").read())
json.dump(titles, open("models.json", "w"))
PY
  cat > main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/onnx-gomlx/onnx/parser"
)

func main() {
	var models []struct {
		Title  string
		Shape  []int
		Values []float32
	}
	text, err := os.ReadFile("models.json")
	if err == nil {
		err = json.Unmarshal(text, &models)
	}
	if err != nil {
		panic(err)
	}
	backend, err := compute.NewWithConfig("go")
	if err != nil {
		panic(err)
	}
	for i, one := range models {
		parsed, err := parser.ParseFile(fmt.Sprintf("%d.onnx", i))
		if err != nil {
			panic(err)
		}
		store := model.NewStore()
		if err := parsed.VariablesToScope(store.RootScope()); err != nil {
			panic(err)
		}
		for _, result := range model.MustCallOnceN(backend, store,
			func(scope *model.Scope, x *graph.Node) []*graph.Node {
				return parsed.CallGraph(scope, x.Graph(), map[string]*graph.Node{"x": x})
			}, tensors.FromFlatDataAndDimensions(one.Values, one.Shape...)) {
			result.ConstFlatData(func(numbers any) {
				fmt.Printf("%s, onnx-gomlx: %.3g of %v\n",
					one.Title, numbers, result.Shape().Dimensions)
			})
		}
	}
}
GO
  # shellcheck disable=SC2016 # sh expands it
  expect "$1" sh -c 'python3 run.py && go run .'
}
