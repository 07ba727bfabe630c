#!/usr/bin/env python3
"""Plants faults in pages, each of which run_blocks.py must name: test_run_blocks.py BUILD. Exit code: 0 all passed, 1 some failed."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DSL = "```sh\nc++ -std=c++20 one.cpp $(pkg-config --cflags --libs vx-runtime) -o one\n```\n"
NONE = '["docs/dsl.md"]\nreason = "only the line"\n'
# For each page: its text, its entry in the table, and the expected message; none if all is right.
CASES = {
    "right": ("```sh\necho one\necho two\n```\n```text\none\n...\n```\n```console\n$ x=3; echo a$x\na3\n$ echo b$x \\\n    c\nb... c\n```\n", "", ""),
    "varies": ("```console\n$ echo took 17 s\ntook 3 s\n```\n", "varies = [{pattern = '\\d+ s', because = 'seconds'}]", ""),
    "reason": ("```sh\nfalse\n```\n```text\nwhat it would print\n```\n", 'block = [{starts = "false", reason = "takes long"}]', ""),
    "output": ("```console\n$ echo one\ntwo\n```\n", "", "the page shows"),
    "more_output": ("```console\n$ echo one; echo two\none\n```\n", "", "the page shows"),
    "output_of_another_block": ("```sh\necho one\n```\n```text\ntwo\n```\n", "", "the page shows"),
    "command_fails": ("```sh\nfalse\n```\n", "", "exit code 1 of `false`"),
    "text_alone": ("```text\none\n```\n", "", "no block before it has printed anything"),
    "language": ("```toml\na = 1\n```\n", "", "nothing runs a block of the language 'toml'"),
    "no_language": ("```\none\n```\n", "", "nothing runs a block of the language ''"),
    "no_end": ("```sh\necho one\n", "", "the block of line 1 does not end"),
    "nobody_compiles": ("```cpp\n// one.cpp\nint main() {}\n```\n", "", "no command of the page compiles one.cpp"),
    "entry_of_no_block": ("```sh\necho one\n```\n", 'block = [{starts = "echo two", reason = "takes long"}]', "begins with 'echo two', and the page has none"),
    "quoted": ("```text\nnowhere to be found\n```\n", 'block = [{starts = "nowhere to be found", quoted = "docs/dsl.md"}]', "does not stand in docs/dsl.md"),
}
checks = Checks()
checks.is_quiet = True
for name, (page, entry, want) in CASES.items():
    with tempfile.TemporaryDirectory() as source:
        os.mkdir(os.path.join(source, "docs"))
        for path, text in (("README.md", page), ("docs/dsl.md", DSL), ("blocks.toml", f'{NONE}["README.md"]\ninstalled = false\n{entry}\n')):
            with open(os.path.join(source, path), "w") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, "run_blocks.py"), "--build", sys.argv[1], "--source", source, "--table", os.path.join(source, "blocks.toml")], capture_output=True, text=True)
    isRight = (done.returncode != 0 and want in done.stdout) if want else done.returncode in (0, 1) and " 0 failed" in done.stdout
    checks.check(name, isRight, f"expected '{want or '0 failed'}', got exit code {done.returncode}:\n{done.stdout}{done.stderr}")
sys.exit(checks.finish())
