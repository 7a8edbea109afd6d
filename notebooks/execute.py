"""Executes notebooks headless and checks what they show.

Of each notebook every code cell must run, none may print to standard error, those tagged "draws" must show a picture, no
output may be larger than 300 KB, and none may name a folder of this machine. Nothing is written without --write.
"""

import argparse
import json
import pathlib
import sys
import time

import nbclient
import nbformat

FOLDER = pathlib.Path(__file__).resolve().parent
MAX_OUTPUT = 300_000
PICTURES = {"image/png", "image/svg+xml"}


def main():
    parser = argparse.ArgumentParser(prog="run.sh", description="Executes notebooks headless and checks what they show.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="notebooks, such as 01_coding (default: all)")
    parser.add_argument("--write", action="store_true", help="replace the notebooks with the executed ones")
    arguments = parser.parse_args()
    passed = failed = 0
    for path in notebooks(arguments.names):
        began = time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        problems = execute(notebook) or check(notebook)
        print(f"{path.stem}: {time.monotonic() - began:.0f} s", flush=True)
        for problem in problems:
            print(f"{path.stem}: {problem}", file=sys.stderr)
        passed, failed = passed + (not problems), failed + bool(problems)
        if arguments.write and not problems:
            clean(notebook)
            temporary = path.with_suffix(".tmp")
            nbformat.write(notebook, temporary)
            temporary.replace(path)
    print(f"notebooks: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


def notebooks(names):
    """The paths of the named notebooks, or of all."""
    paths = [FOLDER / f"{pathlib.PurePath(name).stem}.ipynb" for name in names] or sorted(FOLDER.glob("*.ipynb"))
    for path in paths:
        if not path.is_file():
            known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.ipynb")))
            sys.exit(f"run.sh: no notebook {path.stem}: choose from {known}")
    return paths


def execute(notebook):
    """Runs all cells in a fresh kernel; returns the problem that it stopped at, if any."""
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    client = nbclient.NotebookClient(notebook, timeout=None, kernel_name="gonb",
                                     extra_arguments=["--raw_error=true"], resources={"metadata": {"path": str(FOLDER)}})
    try:
        client.execute()
    except nbclient.exceptions.CellExecutionError:
        number, cell = next((n, c) for n, c in enumerate(notebook.cells, 1) if any(o.output_type == "error" for o in outputs(c)))
        printed = "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr").strip()
        said = "\n".join("\n".join(o.traceback) for o in cell.outputs if o.output_type == "error").strip()
        return [f"cell {number} failed:\n{printed}\n{said[:3000]}"]
    except (nbclient.exceptions.DeadKernelError, RuntimeError) as error:
        return [f"the kernel does not run ({error}); bin/kernel.log says more"]
    return []


def check(notebook):
    """What an executed notebook shows that it should not, or does not show that it should."""
    problems = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        if cell.source.strip() and cell.execution_count is None:
            problems.append(f"cell {number} did not run")
        errors = "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr")
        if errors:
            problems.append(f"cell {number} printed an error: {errors.strip()}")
        shown = {kind for o in cell.outputs for kind in o.get("data", {})}
        if "draws" in cell.metadata.get("tags", []) and not shown & PICTURES:
            problems.append(f"cell {number} is tagged as drawing and shows no picture")
        for output in cell.outputs:
            text = json.dumps(output)
            if len(text) > MAX_OUTPUT:
                problems.append(f"cell {number} has an output of {len(text):,} bytes; at most {MAX_OUTPUT:,} are fine")
            for place in (str(FOLDER.parent), str(pathlib.Path.home()), "/tmp/"):
                if len(place) > 1 and place in text:
                    problems.append(f"cell {number} shows a folder of this machine, {place}")
    return problems


def clean(notebook):
    """Removes what differs between executions without being a result."""
    for cell in code_cells(notebook):
        cell.metadata.pop("execution", None)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cell):
    return cell.get("outputs", [])


if __name__ == "__main__":
    main()
