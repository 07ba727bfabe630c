#!/usr/bin/env python3
"""scripts/prose counts words and sentences of text and nothing of code, and its ratchet looks at added lines only.

    check_prose.py SCRIPTS/prose
"""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# Pages with targets that may never be left out.
OPENED_FIRST = ("README.md", "CONTRIBUTING.md", "docs/training.md", "docs/serving.md", "docs/dsl.md", "docs/python.md", "docs/benchmarks.md")
checks = Checks()
expect = checks.check


def load(path):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("prose", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("prose", loader))
    loader.exec_module(module)
    return module


def counts_of(prose, text):
    counts = prose.Counts()
    counts.add(*prose.read_markdown(text))
    return counts


def check_counts(prose):
    # (title, page, {word: count}, lengths of its sentences)
    for title, page, words, lengths in [
            ("text", "Ask who comes, and what for.\n", {"who": 1, "what": 1}, [6]),
            ("a fence's code", "One.\n\n```sh\nwho | what behind\n```\n\nTwo.\n", {"who": 0, "what": 0, "behind": 0}, [1, 1]),
            ("a fence in an item", "- One:\n\n  ```text\n  who\n  ```\n\n- Two.\n", {"who": 0}, [1, 1]),
            ("indented code", "One.\n\n    who what\n\nTwo.\n", {"who": 0, "what": 0}, [1, 1]),
            ("code between backticks", "Run `who --what` now.\n", {"who": 0, "what": 0}, [3]),
            ("code over two lines", "Run `who\n--what` now.\n", {"who": 0, "what": 0}, [3]),
            ("a table's cells have words and are no sentences", "One two.\n\n| what | a |\n| --- | --- |\n| who `a | b` | A sentence. And another. |\n", {"what": 1, "who": 1}, [2]),
            ("a link's address", "See [the page](who/what.md) and https://who.example/what now.\n", {"who": 0, "what": 0}, [6]),
            ("a link's text", "See [what it is](a.md).\n", {"what": 1}, [4]),
            ("a hyphenated word", "The hand-kept list is what-if and by-hand, and behind-the-scenes.\n", {"what": 0, "kept": 0, "by hand": 0, "behind": 0}, [9]),
            ("a part of a word", "Whatever somewhat whoever.\n", {"what": 0, "who": 0, "whoever": 1}, [3]),
            ("words over two lines", "It is made by\nhand and run one\nafter another.\n", {"by hand": 1, "in turn": 1}, [10]),
            ("an abbreviation is no end", "Give a size, e.g. Four, i.e. 4, or none. Then go.\n", {}, [9, 2]),
            ("an end", "It ends. `Code` begins it! \"Does it?\" Version 3.5 too.\n", {}, [2, 3, 2, 3]),
            ("items and headings", "# What it is\n\n- one two\n- three\n  four five.\n1. six\n", {"what": 1}, [2, 3, 1]),
            ("a comment of the page", "One.\n<!-- who\nwhat -->\nTwo.\n", {"who": 0, "what": 0}, [1, 1]),
            ("behind in space", "It stands behind a proxy, or behind a reverse proxy.\n", {"behind": 0}, [10]),
            ("behind in time", "The step behind it.\n", {"behind": 1}, [4]),
            ("put down", "Puts the model down.\nIt is put down.\n", {"put down": 1}, [4, 4]),
    ]:
        counts = counts_of(prose, page)
        got = {name: counts.found[name] for name in words}
        expect(f"page: {title}", got == words and [count for count, _ in counts.lengths] == lengths, (got, counts.lengths))
    for title, path, source, words, count in [
            ("C++", "a.cpp", '// who comes\nint a; /* what\n * it is */\nauto s = "// behind"; char c = \'"\'; // told\nauto r = R"(// want)";\n', {"who": 1, "what": 1, "behind": 0, "told": 1, "want": 0}, 6),
            ("a quoted message and code", "a.h", '// The message "expected 1" of `who`.\n', {"want": 0, "who": 0}, 5),
            ("TableGen", "a.td", 'let description = [{\n  What it is.\n  ```mlir\n  who\n  ```\n}];\nlet x = [{ who }]; // told\n', {"what": 1, "who": 0, "told": 1}, 4),
            ("Python", "a.py", '#!/usr/bin/python\n"""Who."""\nx = "what"  # told\ndef f():\n    """Behind."""\n    return """dear"""\n', {"who": 1, "what": 0, "told": 1, "behind": 1, "dear": 0}, 3),
            ("a script of the shell", "run", '#!/bin/sh\n# who\necho "what" # not read\n', {"who": 1, "what": 0}, 1),
            ("CMake", "CMakeLists.txt", '# who\nmessage("what")\n', {"who": 1, "what": 0}, 1),
    ]:
        counts = prose.Counts()
        counts.add(prose.read_comments(path, source))
        got = {name: counts.found[name] for name in words}
        expect(f"comments: {title}", got == words and counts.words == count, (got, counts.words))
    fields = prose.Counts()
    fields.add(prose.read_comments("a.h", "int a; /* one two\n          three */\nint b; // four\n       // five\n// six\n// seven\n"))
    expect("comments: one after code is apart from those of the lines before", [count for count, _ in fields.lengths] == [3, 2, 2], fields.lengths)


class Tree:
    def __init__(self, folder, script):
        self.folder, self.script = folder, script
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.folder, "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def run(self, *arguments):
        done = subprocess.run([sys.executable, self.script, "--root", self.folder, *arguments], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


def check_ratchet(script):
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, script)
        tree.write("README.md", "Who comes.\n")
        code, text = tree.run("--diff")
        expect("ratchet: no commit", code == 0 and "no line was checked" in text, text)
        tree.commit()
        code, text = tree.run("--diff")
        expect("ratchet: one commit, whose lines are not looked at", code == 0 and "0 added lines" in text, text)
        tree.write("README.md", "Who comes.\nIt is told.\n")
        tree.write("lib/a.cpp", "int a; // behind it\n")
        code, text = tree.run("--diff")
        expect("ratchet: lines and files that are not committed, with file, line, word and advice",
               code == 1 and "README.md:2: 'told': say 'reports', 'prints' or 'returns'" in text and "lib/a.cpp:1: 'behind': 'behind' is space" in text and "README.md:1:" not in text, text)
        tree.commit()
        code, text = tree.run("--diff")
        expect("ratchet: the last commit", code == 1 and "README.md:2: 'told'" in text, text)
        tree.write("docs/ops.md", "Who is generated.\n")
        tree.write("README.md", "Who comes.\nIt is told.\nA good line, which says `who`.\n")
        tree.commit()
        code, text = tree.run("--diff")
        expect("ratchet: older lines and generated pages are let be", code == 0 and "2 added lines of 2 files" in text, text)
        code, text = tree.run("--diff", "HEAD~2")
        expect("ratchet: a base that is named", code == 1 and "README.md:2: 'told'" in text, text)
        code, text = tree.run("--diff", "nothing")
        expect("ratchet: a base that is none", code == 2 and "expected a commit of this repository, got 'nothing'" in text, text)
        tree.git("update-ref", "refs/remotes/origin/main", "HEAD~2")
        code, text = tree.run("--diff")
        expect("ratchet: the merge base with origin/main", code == 1 and "README.md:2: 'told'" in text, text)
        tree.git("update-ref", "refs/remotes/origin/main", "HEAD")
        tree.write("docs/a.md", "Ask what it is.\n")
        code, text = tree.run("--diff")
        expect("ratchet: one question is free", code == 0, text)
        tree.write("docs/a.md", "Ask what it is and what for.\n")
        code, text = tree.run("--diff")
        expect("ratchet: two are not", code == 1 and "docs/a.md:1: 'what' too often" in text, text)
        tree.write("docs/a.md", "Word " * 20 + "\n" + "word " * 26 + "end.\n")
        code, text = tree.run("--diff")
        expect("ratchet: a sentence over two lines that is too long", code == 1 and "docs/a.md:1: a sentence of 47 words, expected at most 45" in text, text)
        tree.write("docs/a.md", "A word.\n")
        tree.write("README.md", "Word " * 30 + "\n")
        code, text = tree.run("--diff")
        expect("ratchet: a line that is too wide", code == 1 and "README.md:1: expected a line of at most 120 characters, got 150" in text, text)
        tree.write("README.md", "| " + "word " * 30 + "|\n\nMeasured 2026-11-28 " + "word " * 25 + "\n\n```sh\n" + "word " * 30 + "\n```\n")
        code, text = tree.run("--diff")
        expect("ratchet: rows and code may be wide", code == 0, text)


def check_strict(script):
    good = ("It has a short sentence. " * 3 + "\n") * 40
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, script)
        long = "It is a sentence that has more than twenty eight words since it goes on and on\nand on and on and on and on until it ends here.\n"
        for title, text, says in [("a good page", good, None), ("who", good + "Ask who.\n", "page.md:41: 'who': name the person"),
                                  ("whoever", good + "Ask whoever comes.\n", "page.md:41: 'whoever': name the person"), ("behind", good + "It comes behind.\n", "page.md:41: 'behind'"),
                                  ("one what", good + "Say what.\n", None),
                                  ("what more often than once in 300 words", good + "Say what. Say what. Say what.\n", "expected 'what' at most 2 times in 606 words, got 3: lines 41, 41, 41"),
                                  ("some long sentences", good + long * 6, None), ("too many of them", good + long * 7, "expected at most 6 of 127 sentences with 28 words or more, got 7: line 41 (29), line 43 (29)"),
                                  ("a median that is too long", ("It is a sentence that has more than sixteen words and fewer than all of twenty eight.\n") * 9, "expected a median sentence of at most 16 words, got 17"),
                                  ("a wide line", good + "word " * 25 + "\n", "page.md:41: expected a line of at most 120 characters, got 125"), ("a page without text", "\n", "expected a page, got no text")]:
            tree.write("page.md", text)
            code, got = tree.run("--page", "page.md", "--strict")
            expect(f"targets: {title}", code == 0 if says is None else code and says in got, got)
        tree.write("README.md", "A line.\n" * 149)
        code, got = tree.run("--page", "README.md", "--strict")
        expect("targets: a README of 149 lines", code == 0, got)
        tree.write("README.md", "A line.\n" * 150)
        code, got = tree.run("--page", "README.md", "--strict")
        expect("targets: a README that is too long", code == 1 and "README.md: expected at most 149 lines, got 150" in got, got)
        code, got = tree.run("--page", "none.md", "--strict")
        expect("targets: no page", code == 2 and "expected a page, got 'none.md'" in got, got)
        tree.write("page.md", "A segment of an instance.\n")
        tree.write("docs/glossary.md", "# Words\n\n**instance**: a module on a device\n\n| term | meaning |\n| --- | --- |\n| `segment` | a part |\n")
        code, got = tree.run("--page", "page.md")
        expect("table: a term that the glossary has", code == 0 and got.splitlines()[1].split()[-1] == "0", got)
        tree.write("page.md", "A stand-in.\n")
        tree.write("docs/glossary.md", "# Words\n\n### stand-in\n\nA library of the tests.\n")
        code, got = tree.run("--page", "page.md")
        expect("table: a term with a hyphen", code == 0 and got.splitlines()[1].split()[-1] == "0", got)
        tree.write("page.md", "A segment of an instance.\n")
        tree.write("docs/glossary.md", "# Words\n\n## Instance\n\nA module on a device.\n")
        code, got = tree.run("--page", "page.md")
        expect("table: a term that it lacks", got.splitlines()[1].split()[-1] == "1", got)


def check_comparison(script):
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, script)
        tree.write("README.md", "It runs if it must. At most 4 of\nthem fail, up\nto `8081` and 2.5.\n\n```sh\nif 77; then fail\n```\n\n| port | wrong |\n| --- | --- |\n| 6 | 9 |\n")
        tree.commit()
        base = tree.git("rev-parse", "HEAD")
        tree.write("README.md", "It runs. It has 9 of them, and error-free `x1` in v2.0, unless it is refused.\n")
        tree.write("docs/new.md", "Only 4 are not supported.\n")
        tree.write("docs/ops.md", "A generated 6.\n")
        tree.git("add", "-A")
        code, text = tree.run("--compare", "HEAD")
        lines = text.splitlines()
        expect("comparison: its columns", code == 0 and lines[0].split()[:4] == ["lines", "words", "sentences", "median"] and lines[0].endswith("conditions  limits  figures  error cases"), text)
        rows = {line.split("  ")[0]: [int(cell) for cell in line.split()[-4:]] for line in lines[1:-1]}
        expected = {f"README.md, {base[:8]}": [1, 3, 5, 2], "README.md, now": [1, 0, 1, 1], "docs/new.md, now": [1, 0, 1, 1]}
        expect("comparison: conditions, limits, figures and error cases before and now; a new page has one row", rows == expected, (rows, expected))
        expect("comparison: lines and words", lines[1].split()[2:4] == ["11", "20"], lines[1])
        expect("comparison: figures that are gone from all pages, the generated ones too", lines[-1] == "figures that no page has any more: 2.5, 8081", lines[-1])
        code, text = tree.run("--compare", "HEAD", "--page", "docs/new.md")
        expect("comparison: of one page", code == 0 and "README.md" not in text and text.endswith("any more: none\n"), text)
        code, text = tree.run("--compare", "nothing")
        expect("comparison: with no commit", code == 2 and "expected a commit of this repository, got 'nothing'" in text, text)


def main():
    script = os.path.abspath(sys.argv[1])
    prose = load(script)
    expect("the pages that users open first have targets", all(prose.is_page(page) for page in OPENED_FIRST), prose.GENERATED)
    check_counts(prose)
    check_ratchet(script)
    check_strict(script)
    check_comparison(script)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    rows = {cells[0]: cells for cells in (re.split(r" {2,}", line) for line in done.stdout.splitlines()) if len(cells) > 2}
    for name in (*OPENED_FIRST, "all pages", "compiler/lib/Codegen", "runtime/lib/exec", "all comments"):
        expect(f"the table of the tree has {name}", done.returncode == 0 and int(rows.get(name, ["", "0"])[1]) > 300, rows.get(name, done.stderr))
    expect("the table counts terms", rows[""][-1] == "terms" and rows["README.md"][-1].isdigit(), rows[""])
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
