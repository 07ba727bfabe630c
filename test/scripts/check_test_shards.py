#!/usr/bin/env python3
"""Whether scripts/test-shards keeps, joins and repeats results as it says, in a scratch repository with a table of its own.

  check_test_shards.py scripts/test-shards
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

SCRIPT = os.path.abspath(sys.argv[1])


def shard(name, minutes, inputs, closing, code=0):
    return {"name": name, "minutes": minutes, "inputs": inputs, "command": ["sh", "-c", f"echo ran >>../{name}.runs; echo '{closing}'; exit {code}"]}


TABLE = [
    shard("good", 1, ["a"], "3 passed, 0 failed, 1 skipped"),
    shard("bad", 1, ["b"], "4 passed, 2 failed, 0 skipped", 1),
    shard("big", 100, ["a", "b"], "5 passed, 0 failed, 0 skipped"),
]


checks = Checks()
checks.is_quiet = True
expect = checks.check_equal


def check_table(root):
    """The table of the tree: names are unique, inputs exist, and a pattern leaves the rest to one shard of its configuration."""
    with open(os.path.join(root, "scripts", "test-shards.json")) as file:
        table = json.load(file)
    names = [one["name"] for one in table]
    expect("names of the table", sorted(set(names)), sorted(names))
    for one in table:
        for path in one["inputs"]:
            expect(f"{one['name']}: its input {path} exists", True, os.path.exists(os.path.join(root, path)))
    expect("shards that no configuration of ctest has", [], sorted({"default", "release", "release-roots", "site"} - set(names)))
    for configuration in ("long", "emulated", "sizes"):
        rest = [one["name"] for one in table if one.get("tests", {}).get("configuration") == configuration and "match" not in one["tests"]]
        expect(f"shards that take the rest of {configuration}", 1, len(rest))
    # Tests of scripts and of tables in pages are among those of a whole folder.
    expect("shards of a whole folder, by other inputs than all", [], [one["name"] for one in table if "ctest" in one.get("tests", {}) and one["inputs"] != ["."]])


def main():
    check_table(os.path.dirname(os.path.dirname(SCRIPT)))
    with tempfile.TemporaryDirectory() as scratch:
        tree, table = os.path.join(scratch, "tree"), os.path.join(scratch, "table.json")

        def shards(*arguments, of=TABLE, journal="journal"):
            with open(table, "w") as file:
                json.dump(of, file)
            result = subprocess.run([SCRIPT, "--table", table, "--journal", os.path.join(scratch, journal), *arguments], cwd=tree, capture_output=True, text=True)
            lines = result.stdout.splitlines()
            return result.returncode, lines, lines[-1] if lines else result.stderr

        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *arguments], cwd=tree, check=True, capture_output=True)

        def write(path, text):
            with open(os.path.join(tree, path), "w") as file:
                file.write(text)

        def commit(path, text):
            write(path, text)
            git("add", ".")
            git("commit", "-q", "-m", path)

        def runs(name):
            path = os.path.join(scratch, name + ".runs")
            return len(open(path).readlines()) if os.path.exists(path) else 0

        os.mkdir(tree)
        git("init", "-q")
        commit("a", "1")
        commit("b", "1")

        code, lines, _ = shards("--plan")
        expect("plan: exit code", 0, code)
        expect("plan: states", [f"{one['name']:32} {one['minutes']:4} min  not run" for one in TABLE], lines)
        expect("plan: runs", 0, runs("good"))

        code, _, last = shards("--minutes", "10")
        expect("minutes: exit code", 3, code)
        expect("minutes: closing line", "1 of 3 shards are left: big; run it again to go on", last)
        code, lines, last = shards()
        expect("resumed: exit code with a failing shard", 1, code)
        expect("resumed: closing line", "12 passed, 2 failed, 1 skipped", last)
        expect("resumed: names the failing shard", True, "FAILED: bad: 2" in lines)
        expect("resumed: runs", [1, 1, 1], [runs(one["name"]) for one in TABLE])
        code, _, last = shards()
        expect("a failing shard stays one: exit code", 1, code)
        expect("a failing shard stays one: closing line", "12 passed, 2 failed, 1 skipped", last)
        expect("a failing shard stays one: runs", [1, 1, 1], [runs(one["name"]) for one in TABLE])

        write("new", "1")
        code, _, last = shards()
        expect("dirty: exit code", 2, code)
        expect("dirty: names the file", True, "got 1 changed files (new)" in last)

        commit("new", "1")
        _, lines, last = shards()
        expect("equal inputs: carried", 3, sum("carried from" in line for line in lines))
        expect("equal inputs: closing line", "12 passed, 2 failed, 1 skipped", last)
        commit("b", "2")
        shards()
        expect("changed inputs: runs", [1, 2, 2], [runs(one["name"]) for one in TABLE])

        none = [{"name": "none", "minutes": 1, "inputs": ["a"], "tests": {"folder": scratch, "ctest": ["-R", "nothing"]}}]
        for title, of in [("no test of ctest", none), ("no test of a configuration", [dict(none[0], tests={"folder": scratch, "configuration": "long"})]),
                          ("a count of 0", [shard("zero", 1, ["a"], "0 passed, 0 failed, 0 skipped")]), ("no closing line", [shard("mute", 1, ["a"], "hello")])]:
            code, lines, last = shards(of=of, journal="other")
            expect(f"{title}: exit code and counts", (1, True), (code, ", 0 failed," not in last))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
