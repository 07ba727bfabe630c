"""named_with_controls.py FROM TO: copies a program and names its first function's input and output with what terminals obey.
named_with_controls.py --run TOOL ARGUMENTS...: runs a tool on a file that is not there and has such a name."""
import os
import sys

if sys.argv[1] == "--run":
    os.execvp(sys.argv[2], [sys.argv[2], "no\x1b[2J\nsuch.bin", *sys.argv[3:]])
text = open(sys.argv[1]).read()
text = text.replace('vx.name = "x"', 'vx.name = "x\\1B[31m\\C2\\9B1m"', 1).replace('vx.name = "y"', 'vx.name = "y\\E2\\80\\AE"', 1)
open(sys.argv[2], "w").write(text)
