"""interrupt.py FOLDER COMMAND...: interrupts the command (Ctrl-C) at several moments. Whatever the moment, FOLDER then holds
nothing, or the whole out.vxm. The command writes FOLDER/out.vxm; its last run is let finish."""
import os
import signal
import subprocess
import sys
import time

folder, command = sys.argv[1], sys.argv[2:]
began = time.monotonic()
subprocess.run(command, check=True)
whole_time, whole = time.monotonic() - began, open(os.path.join(folder, "out.vxm"), "rb").read()
interrupted = 0
for step in range(12):
    if os.path.exists(os.path.join(folder, "out.vxm")):
        os.remove(os.path.join(folder, "out.vxm"))
    # A test that runs in the background has inherited that interrupts are ignored.
    process = subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    time.sleep(whole_time * step / 11)
    process.send_signal(signal.SIGINT)
    code = process.wait()
    names = os.listdir(folder)
    if code == 0:
        assert names == ["out.vxm"], names
        assert open(os.path.join(folder, "out.vxm"), "rb").read() == whole, "the module differs"
    else:
        interrupted += 1
        assert code in (-signal.SIGINT, 128 + signal.SIGINT), f"exit code {code}"
        assert names in ([], ["out.vxm"]), names
        if names:
            assert open(os.path.join(folder, "out.vxm"), "rb").read() == whole, "a part of a module"
assert interrupted > 0, "no interrupt came in time"
print("interrupted, and nothing is left")
