#!/usr/bin/env python3
"""Whether every program of scripts/ prints its header comment for --help, refuses a flag that it does not know with exit code 2, and does nothing else then:

    check_usage.py SCRIPTS

They run in a copy of the folder, where programs that change something are stand-ins that write down their call, and packages of Python that a machine may lack
cannot be imported. Programs with planted faults must be found. Exit code: 0, or 1 where an expectation is not met."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAMS = ("apt-cache", "apt-get", "clang-format-22", "cmake", "cpack", "ctest", "curl", "dpkg-query", "git", "ninja", "perl", "pip", "sudo", "xz")
PACKAGES = ("mpmath", "nanobind", "numpy", "onnx", "onnxruntime", "torch", "vx")

# Arguments that are no flags, too many or too few.
WORDS = {"setup": ["word"], "quickstart": ["word"], "onnx-coverage": ["word", "word"], "site": ["word"], "api-reference": ["word"], "release": [], "test-skips": ["word"],
         "build-wheels": ["word", "word", "word"]}
FAULTS = {
    "silent": "#!/usr/bin/env bash\n# silent: does nothing.\nexit 0\n",
    "ignores": '#!/usr/bin/env bash\n# ignores: has no arguments.\ngit init\n',
    "works-first": '#!/usr/bin/env bash\n# works-first: does its work, and looks at its arguments then.\n#\n#   works-first\ntouch "$(dirname "$0")/made"\n'
                   '. "$(dirname "$0")/usage.sh"\ncheck_usage 0 "$@"\n',
    "imports-first": '#!/usr/bin/env python3\n"""imports-first: needs NumPy."""\nimport numpy\nimport usage\nusage.check(__doc__)\n',
    "takes-all": '#!/usr/bin/env python3\n"""takes-all: has a help."""\nimport sys\nif sys.argv[1:] == ["--help"]:\n    print(__doc__)\n',
    "other-code": '#!/usr/bin/env python3\n"""other-code: has a help."""\nimport sys\nif sys.argv[1:] == ["--help"]:\n    sys.exit(print(__doc__))\nsys.exit("unknown --no-such-flag")\n',
    "waits": "#!/usr/bin/env bash\n# waits: for a long time.\nsleep 60\n",
}


def header_of(path):
    """The first line of the comment at the head of a script."""
    with open(path) as file:
        file.readline()
        return re.sub(r'^(# ?|""")', "", file.readline()).removesuffix('"""\n').strip()


class Folder:
    """A copy of scripts/ in a tree that has nothing else."""

    def __init__(self, scripts, folder):
        self.scripts, self.calls, self.programs, packages = (os.path.join(folder, name) for name in ("tree/scripts", "calls", "programs", "packages"))
        shutil.copytree(scripts, self.scripts, ignore=shutil.ignore_patterns("__pycache__"))
        os.mkdir(self.programs)
        for name in PROGRAMS:
            self.write(os.path.join(self.programs, name), f'#!/bin/sh\necho {name} "$@" >>{self.calls}\nexit 1\n')
        os.mkdir(packages)
        for name in PACKAGES:
            self.write(os.path.join(packages, f"{name}.py"), f'raise ImportError("no {name} here")\n')
        self.environment = os.environ | {"PATH": f"{self.programs}:{os.environ['PATH']}", "PYTHONPATH": packages}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def files(self):
        found = {}
        for place, _, names in os.walk(os.path.dirname(self.scripts)):
            for name in names:
                info = os.stat(os.path.join(place, name))
                found[os.path.join(place, name)] = (info.st_size, info.st_mtime_ns)
        return found

    def problems(self, name, seconds=30):
        """What is wrong with the script, as sentences."""
        path = os.path.join(self.scripts, name)
        before = self.files()
        for flag in ("--help", "--no-such-flag"):
            try:
                done = subprocess.run([path, flag], capture_output=True, text=True, cwd=os.path.dirname(self.scripts), env=self.environment, stdin=subprocess.DEVNULL, timeout=seconds)
            except subprocess.TimeoutExpired:
                yield f"{name} {flag}: expected it to end at once, got none after {seconds} s"
                continue
            if flag == "--help":
                if done.returncode != 0 or done.stderr:
                    yield f"{name} --help: expected exit code 0 and no error, got {done.returncode} and '{done.stderr}'"
                first = done.stdout.split("\n")[0].strip()
                if not first or first != header_of(path):
                    yield f"{name} --help: expected '{header_of(path)}', got '{first}'"
                if name not in done.stdout:
                    yield f"{name} --help: expected a line that shows how '{name}' is called, got '{done.stdout}'"
            else:
                if done.returncode != 2 or done.stdout:
                    yield f"{name} {flag}: expected exit code 2 and no output, got {done.returncode} and '{done.stdout}'"
                if flag not in done.stderr or done.stderr.count("\n") != 1:
                    yield f"{name} {flag}: expected a line that names '{flag}', got '{done.stderr}'"
        after = self.files()
        for file in sorted(set(before) | set(after)):
            if before.get(file) != after.get(file):
                yield f"{name}: expected no change of files, got one of {os.path.relpath(file, os.path.dirname(self.scripts))}"
        if os.path.exists(self.calls):
            with open(self.calls) as file:
                yield f"{name}: expected no call of a program, got '{file.read().strip()}'"
            os.remove(self.calls)


def main():
    scripts = os.path.abspath(sys.argv[1])
    failed = 0

    def expect(what, got):
        nonlocal failed
        if got:
            failed += 1
            print(f"FAILED {what}: {got}")

    with tempfile.TemporaryDirectory() as work:
        folder = Folder(scripts, work)
        names = sorted(name for name in os.listdir(scripts) if os.access(os.path.join(scripts, name), os.X_OK) and os.path.isfile(os.path.join(scripts, name)))
        expect("the folder", "" if len(names) >= 30 else f"expected 30 programs or more, got {len(names)}")
        for name in names:
            for problem in folder.problems(name):
                expect("scripts", problem)
        for name, words in WORDS.items():
            done = subprocess.run([os.path.join(folder.scripts, name), *words], capture_output=True, text=True, cwd=os.path.dirname(folder.scripts), env=folder.environment, timeout=30)
            expect(f"{name} {' '.join(words)}", "" if done.returncode == 2 and "see --help" in done.stderr else f"expected exit code 2, got {done.returncode}: {done.stderr}")
        for name, text in FAULTS.items():
            folder.write(os.path.join(folder.scripts, name), text)
            expect(f"the planted script '{name}'", "" if list(folder.problems(name, 30 if name != "waits" else 1)) else "it was not found")
    print(f"{failed} expectations are not met" if failed else f"{len(names)} scripts have a help and refuse what they do not know")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
