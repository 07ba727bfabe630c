#!/usr/bin/env python3
"""Runs the fenced blocks of README.md and docs/*.md as a reader would, and compares their output with the page.

  run_blocks.py --build BUILD --source . [--python BUILD/python] [--page docs/dsl.md ...] [--long] [--installed] [--cxx "g++ -fsanitize=address"]

The blocks of a page run in their order, in one empty folder, with vx installed in ~/vx and one shell. The language of a block decides how it runs:

  sh        commands; each must succeed
  console   `$ ` before a command, then its output; without output on the page it is not compared
  text      the output of the previous block
  cpp       begins with `// NAME.cpp`: that file, which a command of the page must compile. Else statements: their includes and usings stand before a main(), and the line
            of docs/dsl.md compiles them
  python    statements; all of a page run in one interpreter

In an output, a line of `...` matches any lines, and `...` in a line any text. test/docs/blocks.toml has all else: the preconditions of a page, the numbers that depend on
the machine, and the reasons for blocks that do not run. A block that is none of these fails. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import collections
import glob
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND_LIMIT = 300  # seconds
Block = collections.namedtuple("Block", "line language text")


class Failure(Exception):
    pass


def read_blocks(path):
    blocks, opened = [], None
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        fence = re.match(r"( *)```(\w*)\s*$", line)
        if fence and opened is None:
            opened = number, fence[2], []
        elif fence and not fence[2]:
            blocks.append(Block(opened[0], opened[1], "".join(opened[2])))
            opened = None
        elif opened is not None:
            opened[2].append(line)
    if opened is not None:
        raise Failure(f"the block of line {opened[0]} does not end")
    return blocks


def split_commands(text):
    """Commands of a block of `sh`. A line that ends with a backslash continues."""
    commands, open_one = [], ""
    for line in text.splitlines():
        open_one += line
        if line.endswith("\\"):
            open_one += "\n"
        elif open_one.strip():
            commands.append(open_one)
            open_one = ""
    return commands


def split_console(text):
    """Pairs of a command and the lines that it prints."""
    pairs, goes_on = [], False
    for line in text.splitlines():
        if goes_on:
            pairs[-1][0] += "\n" + line
        elif line.startswith("$ "):
            pairs.append([line[2:], []])
        elif not pairs:
            raise Failure(f"'{line}' stands before the first command")
        else:
            pairs[-1][1].append(line)
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return pairs


class Shell:
    """One shell for all commands of a page, so that variables stay."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash", "--noprofile", "--norc"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace", start_new_session=True)
        self.folder, self.count, self.servers = folder, 0, []

    def run(self, command):
        self.count += 1
        end = f"end of command {self.count} of {os.getpid()}"
        timer = threading.Timer(COMMAND_LIMIT, self.process.kill)
        timer.start()
        self.process.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n%s: %d\\n' '{end}' $?\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith(end):
                timer.cancel()
                if int(line.rsplit(" ", 1)[1]) != 0:
                    raise Failure(f"exit code {line.rsplit(' ', 1)[1].strip()} of `{command}`:\n" + "".join(lines[-30:]))
                if lines and lines[-1] == "\n":
                    lines.pop()
                elif lines:
                    lines[-1] = lines[-1].rstrip("\n")
                return "".join(lines).splitlines()
            lines.append(line)
        raise Failure(f"the shell has ended, or {COMMAND_LIMIT} s are over, in `{command}`:\n" + "".join(lines[-30:]))

    def start(self, command, isReady):
        """Starts a command that does not end, and returns its output once that is complete."""
        self.end_servers()  # it has the port
        path = os.path.join(self.folder, f".server{self.count}")
        open(path, "w").close()
        self.run(f"{{ exec {command}; }} >>{shlex.quote(path)} 2>&1 & echo $! >{shlex.quote(path)}.pid")
        self.servers.append(path)
        printed = []
        for _ in range(300):
            printed = open(path, errors="replace").read().splitlines()
            if isReady(printed):
                break
            time.sleep(0.2)
        return printed

    def end_servers(self):
        for path in self.servers:
            self.run(f"kill -INT $(cat {shlex.quote(path)}.pid); wait $(cat {shlex.quote(path)}.pid) || true")
        self.servers = []

    def close(self):
        self.end_servers()
        self.process.stdin.close()
        self.process.wait()


PYTHON_LOOP = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(json.loads(line), "block", "exec"), names)
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([printed.getvalue(), error]), flush=True)
"""


class Python:
    def __init__(self, folder, environment, package):
        self.process = subprocess.Popen([sys.executable, "-c", PYTHON_LOOP], cwd=folder, env={**environment, "PYTHONPATH": package}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure("the interpreter has ended")
        printed, error = json.loads(answer)
        if error:
            raise Failure(error)
        return printed.splitlines()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def matches(want, got):
    """Whether lines are those that a block shows."""
    if not want:
        return not got
    if want[0].strip() == "...":
        return any(matches(want[1:], got[i:]) for i in range(len(got) + 1))
    if not got:
        return False
    pattern = ".*".join(re.escape(part) for part in want[0].rstrip().split("..."))
    return re.fullmatch(pattern, got[0].rstrip()) is not None and matches(want[1:], got[1:])


def make_program(text):
    """A snippet's statements in a main(), after its includes."""
    lines = text.splitlines()
    above = [line for line in lines if re.match(r"#include |using namespace ", line)]
    return "\n".join([*above, "int main() {", *(line for line in lines if line not in above), "}", ""])


class Page:
    def __init__(self, arguments, name, table, work, compile_line):
        self.arguments, self.name, self.table, self.compile_line = arguments, name, table, compile_line
        self.entries = {}
        for entry in table.get("block", []):
            if entry["starts"] in self.entries:
                raise Failure(f"blocks.toml says two things of '{entry['starts']}'")
            self.entries[entry["starts"]] = entry
        self.folder = os.path.join(work, name.replace("/", "-"), "folder")
        home = os.path.join(work, "home")
        os.makedirs(self.folder)
        os.makedirs(home, exist_ok=True)
        self.environment = {"HOME": home, "PATH": f"{work}/compilers:{os.path.dirname(sys.executable)}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TMPDIR": work,
                            "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        self.printed, self.programs, self.python = None, {}, None
        self.ran, self.left_out, self.failures = 0, collections.Counter(), []
        self.varies = [(entry["pattern"], entry["because"]) for entry in table.get("varies", [])]
        self.shell = Shell(self.folder, self.environment)
        self.port = None
        if "port" in table:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = str(probe.getsockname()[1])

    def compare(self, want, got):
        if self.port:
            got = [line.replace(self.port, self.table["port"]) for line in got]

        def level(lines):
            for pattern, _ in self.varies:
                lines = [re.sub(pattern, "<varies>", line) for line in lines]
            return lines

        if not matches(level(want), level(got)):
            shown = got if len(got) <= 40 else [*got[:20], "... (and so on)", *got[-20:]]
            raise Failure("the page shows\n    " + "\n    ".join(want) + "\nand what is printed is\n    " + "\n    ".join(shown))

    def command(self, text):
        return text.replace(self.table["port"], self.port) if self.port else text

    def compile_command(self, name, entry):
        line = self.place(entry.get("compile", self.compile_line)).replace("NAME", name)
        return re.sub(r"(--libs) [^)]*\)", rf"\1 {entry.get('libraries', 'vx-compiler vx-train vx-runtime')})", line)

    def place(self, text):
        return text.replace("$SOURCE", self.arguments.source).replace("$BUILD", self.arguments.build)

    def run_sh(self, block, entry):
        self.printed = []
        for command in split_commands(block.text):
            self.printed += self.shell.run(self.command(command))

    def run_console(self, block, entry):
        for command, want in split_console(block.text):
            text = self.command(command)
            if any(text.startswith(start) for start in entry.get("servers", [])):
                got = self.shell.start(text, lambda lines: len(lines) >= len(want))
            elif any(text.startswith(start) for start in entry.get("fails", [])):
                got = self.shell.run(f"! {{ {text}\n}}")
            else:
                got = self.shell.run(text)
            if want:
                self.compare(want, got)
            self.printed = got

    def run_text(self, block, entry):
        if self.printed is None:
            raise Failure("no block before it has printed anything: say in blocks.toml why it does not run")
        self.compare(block.text.splitlines(), self.printed)
        self.printed = None

    def run_cpp(self, block, entry):
        name = re.match(r"// (\w+\.(?:cpp|c))\n", block.text)
        if name:
            self.programs[name[1]] = block
            open(os.path.join(self.folder, name[1]), "w").write(block.text)
            self.printed = None
            return
        program = f"snippet{block.line}"
        text = entry["template"].replace("@BLOCK@", block.text) if "template" in entry else make_program(entry.get("before", "") + block.text)
        open(os.path.join(self.folder, program + ".cpp"), "w").write(text)
        self.shell.run(self.compile_command(program, entry))
        self.printed = self.shell.run(f"./{program}")

    def run_cmake(self, block, entry):
        os.makedirs(os.path.join(self.folder, f"project{block.line}"))
        open(os.path.join(self.folder, f"project{block.line}", "CMakeLists.txt"), "w").write(entry["template"].replace("@BLOCK@", block.text))
        self.printed = self.shell.run(f"cmake -S project{block.line} -B project{block.line}/build -DCMAKE_PREFIX_PATH=$HOME/vx && cmake --build project{block.line}/build && ln -sfn project{block.line}/build application")

    def check_quoted(self, block, path):
        text = open(os.path.join(self.arguments.source, path), encoding="utf-8").read()
        for line in block.text.splitlines():
            if re.sub(r"^\w+\.cpp:\d+: ", "", line) not in text:
                raise Failure(f"'{line}' does not stand in {path}")

    def run_python(self, block, entry):
        if self.python is None:
            self.python = Python(self.folder, self.environment, self.arguments.python)
        self.printed = self.python.run(entry.get("before", "") + self.command(block.text))

    def reason_of(self, block, entry):
        if "reason" in entry:
            return entry["reason"]
        if "long" in entry and not self.arguments.long:
            return f"runs by `ctest -C long`: {entry['long']}"
        if block.language == "python" and not self.arguments.python:
            return "the build has no package for Python"
        return None

    def prepare(self):
        for inside, outside in self.table.get("given", {}).items():
            path = os.path.join(self.folder, inside)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(self.place(outside), path)
        if self.table.get("installed", True) and not self.arguments.installed:
            self.shell.run(f"[ -e $HOME/vx ] || cmake --install {shlex.quote(self.arguments.build)} --prefix $HOME/vx")
            self.shell.run("export PATH=$HOME/vx/bin:$PATH PKG_CONFIG_PATH=$HOME/vx/lib/pkgconfig LD_LIBRARY_PATH=$HOME/vx/lib")
        for command in self.table.get("prepare", []):
            self.shell.run(self.place(command).replace("$PYTHON", sys.executable))

    def run(self):
        blocks = read_blocks(os.path.join(self.arguments.source, self.name))
        whole = self.table.get("reason")
        if whole:
            self.left_out[whole] += len(blocks)
            return
        self.prepare()
        seen, compiled, missing = set(), "", None
        for block in blocks:
            first = block.text.split("\n", 1)[0]
            entry = self.entries.get(first, {})
            seen.add(first)
            reason = self.reason_of(block, entry) or (missing if block.language == "text" else None)
            missing = None
            if reason:
                self.left_out[reason] += 1
                self.printed = None
                missing = reason if block.language != "text" else None # its output follows it
                continue
            if block.language in ("sh", "console"):
                compiled += block.text
            try:
                if "quoted" in entry:
                    self.check_quoted(block, entry["quoted"])
                    self.ran += 1
                    continue
                run = getattr(self, "run_" + ("cpp" if block.language == "c" else block.language), None) if block.language else None
                if run is None:
                    raise Failure(f"nothing runs a block of the language '{block.language}': say in test/docs/blocks.toml why it does not run")
                run(block, entry)
                for command in entry.get("then", []):
                    self.shell.run(command)
                self.ran += 1
            except Failure as failure:
                self.failures.append(f"{self.name}:{block.line}: {failure}")
                self.printed = None
        for first in self.entries:
            if first not in seen:
                self.failures.append(f"{self.name}: test/docs/blocks.toml tells of a block that begins with '{first}', and the page has none")
        for program, block in self.programs.items():
            if program not in compiled:
                self.failures.append(f"{self.name}:{block.line}: no command of the page compiles {program}")

    def close(self):
        self.shell.close()
        if self.python:
            self.python.close()


def write_compilers(folder, cxx):
    """The programs for c++ and cc of the pages."""
    os.makedirs(folder)
    words = shlex.split(cxx)
    c = [{"g++": "gcc"}.get(words[0], words[0].replace("clang++", "clang")), *words[1:]]
    for name, line in (("c++", words), ("cc", c)):
        path = os.path.join(folder, name)
        open(path, "w").write(f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n')
        os.chmod(path, 0o755)


def find_compile_line(source):
    """The line by which docs/dsl.md compiles its first program, with NAME for the program."""
    for block in read_blocks(os.path.join(source, "docs", "dsl.md")):
        for line in split_commands(block.text) if block.language == "sh" else []:
            found = re.match(r"c\+\+ -std=c\+\+20 (\w+)\.cpp .*-o \1$", line)
            if found:
                return re.sub(rf"\b{found[1]}\b", "NAME", line)
    raise Failure("docs/dsl.md has no line that compiles a program")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--python", default="")
    parser.add_argument("--table", default=os.path.join(HERE, "blocks.toml"))
    parser.add_argument("--page", action="append")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--installed", action="store_true", help="vx is installed in the system, and its package for Python in this one")
    parser.add_argument("--cxx", default="g++ -fsanitize=address")
    arguments = parser.parse_args()
    arguments.build, arguments.source = os.path.abspath(arguments.build), os.path.abspath(arguments.source)
    arguments.python = arguments.python and os.path.abspath(arguments.python)
    table = tomllib.load(open(arguments.table, "rb"))
    names = ["README.md", *sorted(os.path.relpath(path, arguments.source) for path in glob.glob(os.path.join(arguments.source, "docs", "*.md")))]
    failures = [f"test/docs/blocks.toml tells of {name}, which is no page" for name in table if name not in names]
    unknown = set(arguments.page or []) - set(names)
    if unknown:
        sys.exit(f"there is no page {', '.join(unknown)}")
    ran, left_out = 0, collections.Counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        write_compilers(os.path.join(work, "compilers"), arguments.cxx)
        compile_line = find_compile_line(arguments.source)
        for name in arguments.page or names:
            began, used = time.monotonic(), os.times()
            page = Page(arguments, name, table.get(name, {}), work, compile_line)
            try:
                page.run()
            except Failure as failure:
                page.failures.append(f"{name}: {failure}")
            finally:
                page.close()
            ran += page.ran
            left_out += page.left_out
            failures += page.failures
            if page.ran + page.left_out.total():
                now = os.times()
                cpu = now.children_user - used.children_user + now.children_system - used.children_system
                print(f"{name}: {page.ran} blocks ran, {page.left_out.total()} did not, {len(page.failures)} failures, {time.monotonic() - began:.0f} s, {cpu:.0f} s of CPU", flush=True)
    for failure in failures:
        print(f"FAIL {failure}")
    for reason, count in left_out.most_common():
        print(f"did not run: {count:4} {reason}")
    print(f"{ran} blocks ran, {left_out.total()} did not, for {len(left_out)} reasons; {len(failures)} failed")
    sys.exit(1 if failures or ran == 0 else 0)


if __name__ == "__main__":
    main()
