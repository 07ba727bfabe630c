"""Runs the cells of notebooks without Jupyter, each notebook in a process of its own: run_notebook.py NOTEBOOK...

Prints what the cells print, and the value of a cell's last line. A cell with the tag of a package, such as "torch", runs where that is installed; one with the tag "without-torch" where it is not.
Exit code 1: a cell raises; its number, its code and the error are printed."""
import ast
import importlib.util
import json
import os
import subprocess
import sys
import traceback


def cells_of(path):
    """[(code, tags)] of the cells with code. Raises ValueError for a notebook with results, which are not kept in the tree."""
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    if notebook["nbformat"] != 4:
        raise ValueError(f"{path}: expected a notebook of format 4, got {notebook['nbformat']}")
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if any(cell["outputs"] or cell["execution_count"] is not None for cell in cells):
        raise ValueError(f"{path}: expected cells without results: clear all outputs before a commit")
    return [("".join(cell["source"]), cell["metadata"].get("tags", [])) for cell in cells]


def is_wanted(tags):
    return all(importlib.util.find_spec(tag.removeprefix("without-")) is None if tag.startswith("without-") else importlib.util.find_spec(tag) is not None for tag in tags)


def run(path):
    """The number of cells that ran, and of those that were left out."""
    names, ran, left = {"__name__": "__main__"}, 0, 0
    for number, (code, tags) in enumerate(cells_of(path), 1):
        if not is_wanted(tags):
            print(f"cell {number}: left out: {', '.join(tags)}")
            left += 1
            continue
        parsed = ast.parse(code, f"{path}, cell {number}")
        last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
        try:
            exec(compile(parsed, f"{path}, cell {number}", "exec"), names)
            if last is not None and (value := eval(compile(ast.Expression(last.value), f"{path}, cell {number}", "eval"), names)) is not None:
                print(value)
        except BaseException:
            print(f"FAILED {path}, cell {number}:\n{code}\n{traceback.format_exc()}")
            sys.exit(1)
        ran += 1
    return ran, left


def main():
    if sys.argv[1] == "--one":
        ran, left = run(sys.argv[2])
        print(f"{os.path.basename(sys.argv[2])}: {ran} cells ran, {left} left out")
        return 0
    return max(subprocess.run([sys.executable, "-W", "ignore", os.path.abspath(__file__), "--one", os.path.abspath(path)]).returncode for path in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
