#!/usr/bin/env python3
"""Whether scripts/test-skips sees every way in which a test is left out, in the record of a real ctest.

  check_test_skips.py scripts/test-skips CTEST
"""
import os
import subprocess
import sys
import tempfile

GOOGLETEST = """[ RUN      ] Suite.skipped
/test.cpp:290: Skipped
no such device
[  SKIPPED ] Suite.skipped (0 ms)
[ RUN      ] Suite.runs
[       OK ] Suite.runs (0 ms)
[ RUN      ] Suite.another
/test.cpp:300: Skipped
no such file
[  SKIPPED ] Suite.another (0 ms)"""
LIT = """********************
Unsupported Tests (1):
  vx :: Nowhere/absent.mlir

Testing Time: 0.1s

Total Discovered Tests: 3
  Unsupported: 1 (33.33%)
  Passed     : 2 (66.67%)"""
# It ran with arguments by which it counts and does not list.
SILENT = LIT[LIT.index("Testing Time"):]
# Of each test: its name, what it prints, its exit code, and its properties.
TESTS = [
    ("passes", "all is well", 0, ""),
    ("by_code", "no package here", 77, "SKIP_RETURN_CODE 77"),
    ("by_words  # GetParam() = 1", GOOGLETEST, 0, 'SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]"'),
    ("some_cases", GOOGLETEST, 0, ""),
    ("lit", LIT, 0, ""),
    ("passes_too", "all is well", 0, ""),
]
WANTED = [
    ("no package here", "by_code"),
    ("no such device", "by_words: Suite.skipped"),
    ("no such file", "by_words: Suite.another"),
    ("no such device", "some_cases: Suite.skipped"),
    ("no such file", "some_cases: Suite.another"),
    ("lit does not support it here", "vx :: Nowhere/absent.mlir"),
    ("no header", "api: declarations"),
]


def skips_of(script, ctest, tests):
    """What the script makes of these tests."""
    with tempfile.TemporaryDirectory() as build:
        with open(os.path.join(build, "CTestTestfile.cmake"), "w") as file:
            for index, (name, text, code, properties) in enumerate(tests):
                path = os.path.join(build, f"{index}.sh")
                with open(path, "w") as shell:
                    shell.write(f"cat <<'END'\n{text}\nEND\nexit {code}\n")
                file.write(f'add_test("{name}" sh {path})\n')
                if properties:
                    file.write(f'set_tests_properties("{name}" PROPERTIES {properties})\n')
        with open(os.path.join(build, "left_out.txt"), "w") as file:
            file.write("no header\tapi: declarations\n")
        output = os.path.join(build, "output.txt")
        with open(output, "w") as file:
            subprocess.run([ctest, "-j", "2"], cwd=build, stdout=file, check=True)
        return subprocess.run([sys.executable, script, build, output], capture_output=True, text=True)


def main():
    script, ctest = sys.argv[1:]
    done = skips_of(script, ctest, TESTS)
    got = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    if done.returncode or sorted(got) != sorted(WANTED):
        print(f"FAILED: got {done.returncode}, {sorted(got)} and {done.stderr!r}, expected {sorted(WANTED)}")
        return 1
    silent = skips_of(script, ctest, [("lit", SILENT, 0, "")])
    if silent.returncode != 1 or "lit counts 1 tests that are not supported, and lists 0" not in silent.stderr:
        print(f"FAILED: skips that are counted and not listed: got {silent.returncode} and {silent.stderr!r}")
        return 1
    print(f"{len(WANTED)} skips are counted with their reasons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
