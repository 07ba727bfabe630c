#!/usr/bin/env python3
"""Whether each message of dialects/ and compiler/lib that says "expects" or "expected" says "got" in the same statement: check_messages.py SOURCE

The begin of a message, which ends with ": ", is without it where each place that completes it has the value.
"""
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

FOLDERS = ("dialects", "compiler/lib")
TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|[;{}]')


def statements(text):
    """(line, the text of all string literals) of each statement. A brace inside of parentheses ends none."""
    begin, literals = 0, []
    for found in TOKENS.finditer(text):
        token = found[0]
        if token[0] == '"':
            literals.append(token[1:-1])
        elif token == ";" or token in ("{", "}") and text.count("(", begin, found.start()) == text.count(")", begin, found.start()):
            if literals:
                yield text.count("\n", 0, found.start()) + 1, " ".join(literals)
            begin, literals = found.end(), []
    if literals:
        yield text.count("\n") + 1, " ".join(literals)


def lacking(text):
    """(line, message) of each message without "got"."""
    return [(line, message) for line, message in statements(text)
            if re.search(r"\bexpect(?:s|ed)\b", message) and not re.search(r"\bgot\b", message) and not message.endswith(": ")]


def main():
    checks = Checks()
    checks.is_quiet = True
    for folder in FOLDERS:
        count = 0
        for path in sorted(path for name in ("cpp", "h") for path in glob.glob(os.path.join(sys.argv[1], folder, "**", f"*.{name}"), recursive=True)):
            with open(path) as file:
                text = file.read()
            count += len(re.findall(r"\bexpect(?:s|ed)\b", text))
            for line, message in lacking(text):
                checks.check(f"{os.path.relpath(path, sys.argv[1])}:{line}", False, f"expected a message with 'got', got \"{message}\"")
        checks.check(f"finds messages of {folder}", count > 150, f"expected more than 150, got {count}")
    # The check finds a fault.
    checks.check("a whole message", not lacking('return op->emitOpError() << "expects 1 value, got " << 2;'))
    checks.check("the begin of a message", not lacking('auto error = [&] { return emitError() << "expects a tile that fits: "; };'))
    for fault in ('return op->emitOpError() << "expects 1 value";', 'fail("expected a type for \'"\n     + text + "\'"); fail("got");', 'if (a) { fail("expects that"); } else { fail("got this"); }'):
        checks.check(f"finds {fault}", len(lacking(fault)) == 1, lacking(fault))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
