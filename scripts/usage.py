"""The help of the scripts in this folder, from their docstrings. They call it before they import a package that a machine may lack:

    if __name__ == "__main__":
        import usage
        usage.check(__doc__)
"""
import os
import re
import sys


def check(text, operands=(0, None)):
    """Ends the program where its arguments ask for help or are wrong. --help or -h prints `text` and exits with 0. A flag that `text` does not name exits with 2.
    So does a number of other arguments outside of `operands`, the least and the most; None is no limit. In `--flag VALUE` the value counts as an argument."""
    known = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", text))
    count = 0
    for argument in sys.argv[1:]:
        if argument in ("-h", "--help"):
            print(text.strip())
            sys.exit(0)
        if re.match(r"--?[A-Za-z]|--$", argument):
            if argument.split("=")[0] not in known:
                refuse(f"unknown argument '{argument}'")
        else:
            count += 1
            if operands[1] is not None and count > operands[1]:
                refuse(f"unknown argument '{argument}'")
    if count < operands[0]:
        refuse(f"expected {operands[0]} arguments, got {count}")


def refuse(message):
    print(f"{os.path.basename(sys.argv[0])}: error: {message}; see --help", file=sys.stderr)
    sys.exit(2)
