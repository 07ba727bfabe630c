#!/usr/bin/env python3
"""Whether docs/onnx-coverage.md says of each of its columns which run it is from: by a line as scripts/figures has it, with a commit of the repository.

    check_onnx_coverage.py REPOSITORY

That the page is the one of test/conformance/onnx.txt is docs/onnx-coverage-is-current's to say. Exit code: 0 it does, and a page without any part of such a line is
refused, 1 not.
"""
import importlib.machinery
import importlib.util
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

sys.dont_write_bytecode = True


def load_figures(root):
    loader = importlib.machinery.SourceFileLoader("figures", os.path.join(root, "scripts", "figures"))
    figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
    loader.exec_module(figures)
    return figures


def problems_of(text, root, figures):
    """What is wrong with the page, and a line for each run."""
    problems, runs, named = [], [], set()
    head = re.search(r"^\| set \| cases \| (.*) \|$", text, re.M)
    columns = head[1].split(" | ") if head else []
    if not columns:
        problems.append("expected a table of sets with columns, got none")
    for line in text.splitlines():
        if not (of := re.match(r"(.*) Columns: (.*)\.$", line)):
            continue
        named.update(of[2].split("; "))
        origin = figures.ORIGIN.match(of[1])
        if not origin:
            problems.append(f"expected a line \"Measured DATE at commit HASH on MACHINE by `COMMAND`.\", got '{of[1]}'")
            continue
        date, commit, machine, _ = origin.groups()
        if figures.git(root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
            if figures.git(root, "rev-parse", "--is-shallow-repository") == "false":
                problems.append(f"commit {commit} is none of this repository")
            age = "an unknown number of commits old"
        else:
            age = f"{figures.git(root, 'rev-list', '--count', f'{commit}..HEAD')} commits old"
        runs.append(f"{of[2]}: {date}, {commit}, {age}, {machine}")
    problems += [f"column '{column}' has no run" for column in columns if column not in named]
    return problems, runs


def main():
    root = os.path.abspath(sys.argv[1])
    figures = load_figures(root)
    with open(os.path.join(root, "docs", "onnx-coverage.md"), encoding="utf-8") as file:
        page = file.read()
    checks = Checks()
    expect = checks.check

    problems, runs = problems_of(page, root, figures)
    print("\n".join(runs))
    expect("the page of the tree", runs and not problems, problems)
    line = next((line for line in page.splitlines() if re.search(r" Columns: ", line)), "")
    for what, changed in (("a date", re.sub(r"Measured \S+ ", "Measured ", line)), ("a commit", re.sub(r" at commit \w+", "", line)), ("a machine", re.sub(r" on [^`]+ by ", " by ", line)),
                          ("a command", re.sub(r" by `[^`]*`", "", line)), ("any of them", ""), ("a commit of this repository", re.sub(r"commit \w+", "commit abcdef0123", line)),
                          ("one of its columns", line.replace("; ", "_; ", 1) if "; " in line else line.replace(", static", ", none").replace(", symbolic", ", none"))):
        is_shallow = figures.git(root, "rev-parse", "--is-shallow-repository") != "false"
        if "repository" in what and is_shallow:
            continue
        expect(f"a page without {what} is refused", changed != line and problems_of(page.replace(line, changed), root, figures)[0], changed)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
