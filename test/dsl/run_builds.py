#!/usr/bin/env python3
"""Programs with the builder, compiled as a user would: in an installed tree, by the line of docs/dsl.md, under sanitizers.

  run_builds.py --build BUILD --source . [--clang clang++] [--all]

cases.cpp has each function and layer of the builder, and its graph must have the lines that the build's own dsl_cases writes, which dsl.functions compares with definitions; user_programs.cpp has
forms that users write. Each name that the builder's headers offer must stand in one of them. By g++ without optimisation and with the address sanitizer; --all: by g++ and clang, at -O0 and -O2,
with the sanitizers of addresses and of undefined behaviour, the programs of examples/dsl too. Exit code: 0 all passed, 1 some failed.
"""
import argparse
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs"))
import run_blocks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

# Names of the headers that are for their own use.
NOT_IN_REFERENCE = {"Loc", "Message", "ShapeError", "message", "clash", "better", "apply"}
# Names of the headers that a program does not write, with the reason.
NOT_WRITTEN = {
    "Message": "what checks say when a program is compiled, compared by test/Frontend/Builder", "ShapeError": "the same", "message": "the same",
    "clash": "checks of sizes", "better": "the same", "Dim": "the type of a size, made of 64 and of \"batch\"", "TensorOf": "the type of a result", "Loc": "the place of a call, by itself",
    "CrossEntropy": "options, written as {.smoothing = 0.1}", "AttentionOptions": "options, written as {.window = 3}", "Optimizer": "made by AdamW and its like",
    "Metric": "written as {\"accuracy\", x}", "Causal": "the type of `causal`", "Variable": "made by state()", "apply": "private, of Sequential", "over": "private, of reductions",
    "f64": "an element type", "bf16": "an element type", "i8": "an element type", "i16": "an element type", "i32": "an element type", "u8": "an element type",
}
checks = Checks()


def check(name, problem=""):
    checks.check(name, not problem, problem)


def find_names(path):
    """What a header offers: functions, layers, methods, and what its macros make."""
    names, inside = set(), False
    for line in open(path):
        if line.startswith("namespace detail {"):
            inside = True
        elif line.startswith("} // namespace detail"):
            inside = False
        if inside or line.startswith("#"):
            continue
        for pattern in (r"VX_BUILDER_(?:UNARY|UNARY_ALPHA|PREDICATE|BINARY|LOSS|ACTIVATION)\((\w+),", r"(?:struct|class|enum class|using) (\w+)[ ;:]",
                        r"(?:inline |constexpr )*(?:auto|void|bool|[A-Z]\w*(?:<[^()]*>)?|std::\w+(?:<[^()]*>)?) (\w+)\(",
                        r"  (?:static |inline )*(?:auto|void|Scope|Scalar<D>|Tensor(?:<[^()]*>)?|Variable(?:<[^()]*>)?|const void \*) ?(\w+)\([^;]*\{$"):
            found = re.match(pattern, line)
            if found and found[1] not in ("namespace", "operator"):
                names.add(found[1])
    return names


def check_names(source):
    headers = glob.glob(os.path.join(source, "compiler", "include", "vx", "builder", "*.hpp"))
    names = set().union(*(find_names(path) for path in headers))
    programs = "".join(open(os.path.join(source, "test", "dsl", name)).read() for name in ("cases.cpp", "user_programs.cpp"))
    written = set(re.findall(r"\w+", re.sub(r"//.*", "", programs)))
    for name in sorted(names - written - set(NOT_WRITTEN)):
        check(f"programs with {name}", "the builder has it, and neither cases.cpp nor user_programs.cpp")
    page = open(os.path.join(source, "docs", "dsl-reference.md"), encoding="utf-8").read()
    reference = set(re.findall(r"\w+", " ".join(re.findall(r"^```cpp\n(.*?)^```", page, re.M | re.S) + re.findall(r"^\| `(\w+)`", page, re.M))))
    for name in sorted(names - reference - NOT_IN_REFERENCE):
        check(f"docs/dsl-reference.md with {name}", "the builder has it, and the page does not")
    for name in sorted(set(NOT_WRITTEN) - names):
        check(f"NOT_WRITTEN {name}", "the builder has no such name")
    check(f"{len(names)} names of the builder's headers", "" if len(names) > 100 else "expected more than 100: the headers are not understood")


def read_graph(path):
    """The lines of a graph without the numbers of values: compilers evaluate arguments in orders of their own."""
    return sorted(re.sub(r"%\w+", "%", line) for line in open(path))


def build(cxx, work, environment, line, source, name):
    """Compiles a program by the docs' line; the name of what comes out."""
    run_blocks.write_compilers(os.path.join(work, "compilers", name), cxx)
    folder = os.path.join(work, "programs", name)
    os.makedirs(folder)
    for path in glob.glob(os.path.join(source, "*.cpp")):
        os.symlink(path, os.path.join(folder, os.path.basename(path)))
    return folder, {**environment, "PATH": os.path.join(work, "compilers", name) + ":" + environment["PATH"]}


def run(name, command, folder, environment):
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, errors="replace")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    problem = "" if done.returncode == 0 else f"exit code {done.returncode}: {(done.stdout + done.stderr)[-3000:]}"
    check(f"{name} ({now.ru_utime + now.ru_stime - began.ru_utime - began.ru_stime:.0f} s of CPU)", problem)
    return not problem


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--clang", default="clang++-22")
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    source, binaries = os.path.abspath(arguments.source), os.path.abspath(arguments.build)
    check_names(source)
    sanitizers = {"address": "-fsanitize=address", "undefined": "-fsanitize=undefined -fno-sanitize-recover=all"}
    builds = [("g++", "-O0", "address")]
    if arguments.all:
        builds = [(compiler, level, sanitizer) for compiler in ("g++", arguments.clang) for level in ("-O0", "-O2") for sanitizer in sanitizers]
    with tempfile.TemporaryDirectory() as work:
        prefix = os.path.join(work, "home", "vx")
        subprocess.run(["cmake", "--install", binaries, "--prefix", prefix], check=True, capture_output=True)
        base = {"HOME": os.path.join(work, "home"), "PATH": f"{prefix}/bin:/usr/local/bin:/usr/bin:/bin", "PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig", "LD_LIBRARY_PATH": f"{prefix}/lib",
                "LANG": "C.UTF-8"}
        reference = os.path.join(work, "reference.mlir")
        run("the graph of the build's dsl_cases", f"{binaries}/bin/dsl_cases --graph {reference}", work, base)
        line = run_blocks.find_compile_line(source)
        libraries = lambda text: re.sub(r"(--libs) [^)]*\)", rf"\1 {text})", line)
        for compiler, level, sanitizer in builds:
            title = f"{os.path.basename(compiler)} {level} {sanitizer}"
            cxx = f"{compiler} {level} {sanitizers[sanitizer]}"
            key = title.replace(" ", "")
            folder, environment = build(cxx, work, base, line, os.path.join(source, "test", "dsl"), key)
            if run(f"{title}: cases.cpp is compiled", libraries("vx-compiler vx-runtime").replace("NAME", "cases"), folder, environment):
                if run(f"{title}: cases", "./cases --graph graph.mlir", folder, environment):
                    have, wanted = read_graph(os.path.join(folder, "graph.mlir")), read_graph(reference)
                    other = sorted(set(have) ^ set(wanted))[:8]
                    check(f"{title}: the graph is the build's", "" if have == wanted else "other lines than the build's dsl_cases writes:\n" + "".join(other))
            if run(f"{title}: user_programs.cpp is compiled", libraries("vx-compiler vx-train vx-runtime").replace("NAME", "user_programs"), folder, environment):
                run(f"{title}: user_programs", "./user_programs .", folder, environment)
            if not arguments.all:
                continue
            folder, environment = build(cxx, work, base, line, os.path.join(source, "examples", "dsl"), key + "-examples")
            for path in sorted(glob.glob(os.path.join(folder, "*.cpp"))):
                name = os.path.basename(path)[:-4]
                run(f"{title}: examples/dsl/{name}.cpp is compiled", libraries("vx-compiler vx-train vx-runtime").replace("NAME", name), folder, environment)
            run(f"{title}: gradient", "[ \"$(./gradient | tr '\\n' ' ')\" = '2 -4 1 ' ]", folder, environment)
            run(f"{title}: by_hand", "./by_hand cpu | grep -q ' 3.000 a -2.000 b +1.000'", folder, environment)
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
