"""pair_steps.py REFUSE_CALL OLD NEW FOLDER: compiles OLD with external weights, then NEW over it where one call of the kernel fails or
ends the process, and says which of the two runs."""
import os
import signal
import subprocess
import sys

refuse, old, new, folder = sys.argv[1:]
module = os.path.join(folder, "m.vxm")


def compile_to(model, before=()):
    command = [*before, "vx-compile", model, "-target=cpu", "--no-cache", "--weights=external", "-o", module]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode


def which():
    run = ["vx-run", module, "--device=cpu", "--verify", "--input", "x=f32[1,3]:ones", "--input", "pick=i64[]:zeros", "--print"]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode == 3 and "is not the weights file of this module" in done.stderr:
        return "refused"
    assert done.returncode == 0, done.stderr
    return "old pair" if "1, 2, 4" in done.stdout else "new pair" if "1, 2, 5" in done.stdout else "another pair"


for action in ("EIO", "KILL"):
    for call in ("fsync", "link", "rename", "unlink"):
        assert compile_to(old) == 0
        assert sorted(os.listdir(folder)) == ["m.vxm", "m.weights"], os.listdir(folder)
        code = compile_to(new, [sys.executable, refuse, call, action])
        assert (code == -signal.SIGSYS) == (action == "KILL") or code in (0, 1), code
        print(f"{call} {action}: {'killed' if code < 0 else f'exit code {code}'}, {which()}")
assert compile_to(new) == 0 and which() == "new pair"
assert sorted(os.listdir(folder)) == ["m.vxm", "m.weights"], os.listdir(folder)
print("nothing is left")
