#!/usr/bin/env python3
"""scripts/figures --check takes the pages of the tree, and refuses figures without their date, commit, machine or command, and old ones in a release; what
vx-bench writes becomes tables.

    check_figures.py SCRIPTS/figures
"""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

TABLE = """# Page

<!-- figures cpu-models -->
| | vx, 1 thread | ratio |
| --- | --- | --- |
| ResNet-50 | 50.9 ms | 0.84 |

Measured 2026-11-22 at commit COMMIT on two cores of a part by `scripts/figures cpu-models`.
<!-- end of figures -->

Text after it; a wait of 5 s is no figure.

```console
$ tool
done in 12 ms
```
"""
checks = Checks()
expect = checks.check


def check(script, root):
    done = subprocess.run([sys.executable, script, "--check", "--root", root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Tree:
    """A repository with a page and a source."""

    def __init__(self, folder):
        self.folder = folder
        self.git("init", "-q")
        self.write("source.cpp", "int a;\n")
        self.commit()
        self.first = self.git("rev-parse", "HEAD")
        self.page(TABLE)

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.folder, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def page(self, text, name="README.md"):
        self.write(name, text.replace("COMMIT", self.first[:8]))
        self.commit()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")


def main():
    script = os.path.abspath(sys.argv[1])
    code, text = check(script, os.path.dirname(os.path.dirname(script)))
    print(text, end="")
    expect("the pages of the tree", code == 0, text)
    with open(os.path.join(os.path.dirname(os.path.dirname(script)), "README.md")) as file:
        expect("the README shows the chart", "](docs/pictures/speed.svg)" in file.read())

    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        code, text = check(script, folder)
        expect("a table with its origin, and how old it is", code == 0 and "1 commits old" in text, text)
        line = next(line for line in TABLE.splitlines() if line.startswith("Measured"))
        for what, change in (("a date", line.replace("2026-11-22 ", "")), ("a commit", line.replace(" at commit COMMIT", "")), ("a machine", line.replace(" on two cores of a part", "")),
                             ("a command", line.replace(" by `scripts/figures cpu-models`", "")), ("any of them", "")):
            tree.page(TABLE.replace(line, change))
            code, text = check(script, folder)
            expect(f"a table without {what} is refused", code == 1 and "expected a line \"Measured DATE at commit" in text, text)
        for what, page, says in (("a table that is outside", TABLE.replace("<!-- figures cpu-models -->\n", "").replace("<!-- end of figures -->\n", ""), "README.md:3: a table of figures has no date"),
                                 ("a sentence with a figure", TABLE + "It takes 1.5 ms and no more.\n", "README.md:17: a figure of speed is outside of a table of scripts/figures: 1.5 ms"),
                                 ("a table that is none of the script's", TABLE.replace("figures cpu-models -->", "figures other -->"), "table 'other' is none of scripts/figures"),
                                 ("a table that does not end", TABLE.replace("<!-- end of figures -->", ""), "has no '<!-- end of figures -->'"),
                                 ("a table twice", TABLE + TABLE, "is in the pages 2 times"),
                                 ("a commit that is none", TABLE.replace("COMMIT", "abcdef0123"), "commit abcdef0123 is none of this repository")):
            tree.page(page)
            code, text = check(script, folder)
            expect(f"{what} is refused", code == 1 and says in text, text)
        tree.page(TABLE + "\n![Speed](docs/pictures/speed.svg)\n")
        code, text = check(script, folder)
        expect("a chart that is missing is refused", code == 1 and "README.md shows docs/pictures/speed.svg, which is not there" in text, text)
        tree.page(TABLE)
        tree.git("tag", "v1.0")
        code, text = check(script, folder)
        expect("a release whose pages alone have changed since the table", code == 0, text)
        tree.write("source.cpp", "int b;\n")
        tree.commit()
        code, text = check(script, folder)
        expect("an old table without a release", code == 0, text)
        tree.git("tag", "v1.1")
        code, text = check(script, folder)
        expect("an old table in a release is refused", code == 1 and "expected a table of the release v1.1" in text, text)

    loader = importlib.machinery.SourceFileLoader("figures", script)
    figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(figures)
    with tempfile.TemporaryDirectory() as folder:
        record = {"date": "2026-11-28T07:40:12Z", "host": "h", "cpu": "Part", "cores": 2, "load": 0.0, "nvidia_driver": "570.1", "commit": "0123456789ab", "command": "vx-bench",
                  "devices": [{"device": "cuda:0", "name": "NVIDIA H100", "details": ""}]}
        result = lambda device, median, **more: {"device": device, "runner": "vx", "function": "main", "threads": 0, "median_ms": median, "upload_ms": 0.5, "download_ms": 0.25, "kernels": [], **more}
        def write(name, **document):
            with open(os.path.join(folder, f"{name}.json"), "w") as file:
                json.dump({"record": record, **document}, file)
        write("model_resnet50-f32", results=[result("cuda:0", 1.25), result("vulkan:0", 2.0)])
        write("pytorch_models", results=[{"kind": "model", "model": "resnet50", "way": way, "median_ms": time} for way, time in (("CUDA graph", 3.0), ("torch.compile", 2.5))])
        results = figures.Results(folder)
        names, lines = figures.gpu_models(results)
        expect("a table of networks on a GPU", lines[2:] == ["| ResNet-50 | 1.25 ms | 2.00 ms | 2.50 ms | 2.00 | 1.25 | 0.750 ms |"], lines)
        expect("and where it is from", results.origin(names, "c", gpu=True) == ("2026-11-28", "01234567", "NVIDIA H100, driver 570.1", "c"), results.origin(names, "c", gpu=True))
        tree_folder = os.path.join(folder, "tree")
        os.makedirs(tree_folder)
        tree = Tree(tree_folder)
        tree.page(TABLE + "\n<!-- figures gpu-models -->\n<!-- end of figures -->\n", "docs/benchmarks.md")
        tree.write("docs/pictures/speed.svg", "")
        record["commit"] = tree.first[:12]
        write("model_resnet50-f32", results=[result("cuda:0", 1.25), result("vulkan:0", 2.0)])
        figures.ROOT = tree_folder
        figures.make_tables(figures.Results(folder), ["gpu-models", "gpu-training"], gpu=True)
        with open(os.path.join(tree_folder, "docs", "benchmarks.md")) as file:
            page = file.read()
        expect("it is written into its page", f"| 1.25 ms | 2.00 ms |" in page and
               f"Measured 2026-11-28 at commit {tree.first[:8]} on NVIDIA H100, driver 570.1 by `DIR/gpu-check DIR --figures OUT`." in page and "50.9 ms" in page, page)
        tree.write("README.md", "A page.\n")
        with open(os.path.join(tree_folder, "docs", "pictures", "speed.svg")) as file:
            chart = file.read()
        expect("and drawn in the chart: faster and slower, with their source", '>2.00</text>' in chart and '>0.84</text>' in chart and chart.count('class="bad"') == 1 and
               f"NVIDIA H100, driver 570.1, 2026-11-28, commit {tree.first[:8]}" in chart, chart)
        tree.commit()
        code, text = check(script, tree_folder)
        expect("and taken by the check", code == 0 and text.startswith("cpu-models") and "\ngpu-models" in text, text)
        tree.write("docs/benchmarks.md", page.replace("| 2.00 | 1.25 |", "| 1.90 | 1.25 |"))
        code, text = check(script, tree_folder)
        expect("a chart of other figures than the tables is refused", code == 1 and "docs/pictures/speed.svg is not of the tables" in text, text)
        steps = figures.fastest_peer("vx, CUDA", "PyTorch", "`torch.compile`")
        heads = ["", "vx, CUDA", "vx, Vulkan", "PyTorch 2.11.0, eager", "`torch.compile`", "memory, vx and eager"]
        expect("a step is compared with the faster peer", steps(heads, ["a", "2.00 ms", "1 ms", "5.00 ms", "3.00 ms", "9 MB"]) == 1.5 and steps(heads, ["a", "2.00 ms", "1 ms", "5.00 ms", "-", "9 MB"]) == 2.5 and
               steps(heads, ["a", "-", "1 ms", "5.00 ms", "-", "9 MB"]) is None, steps(heads, ["a", "2.00 ms", "1 ms", "5.00 ms", "3.00 ms", "9 MB"]))
        record["commit"] += "-changed"
        write("model_resnet50-f32", results=[result("cuda:0", 1.25)])
        try:
            expect("a build with changes is refused", False, figures.Results(folder).origin(names, "c", gpu=True))
        except figures.Wrong as error:
            expect("a build with changes is refused", "of one commit without changes" in str(error), error)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
