"""named_with_controls.py FROM TO: copies a program and names its first function's input, output and dimension with what terminals obey.
named_with_controls.py --run TOOL ARGUMENTS...: runs a tool on a file that is not there and has such a name."""
import os
import sys

if sys.argv[1] == "--run":
    os.execvp(sys.argv[2], [sys.argv[2], "no\x1b[2J\nsuch.bin", *sys.argv[3:]])
text = open(sys.argv[1]).read()
text = text.replace('vx.name = "x"', 'vx.name = "x\\0AEVIL\\1B[31m\\C2\\9B1m"', 1).replace('vx.name = "y"', 'vx.name = "y\\0AEVIL\\E2\\80\\AE"', 1)
text = text.replace('vx.symbol "rows"', 'vx.symbol "rows\\0AEVIL"').replace('[rows]', '["rows\\0AEVIL"]')
open(sys.argv[2], "w").write(text)
