#!/usr/bin/env python3
"""What vx-train has trained is not lost on a disk that is full.

  run_full_disk.py --bin BUILD/bin

The disk is a tmpfs of 40 KiB in a mount namespace of the tool's own; where that may not be mounted, which is counted as skipped, files are limited in size alone. Exit code:
0 all passed, 1 some failed.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile

from run_models import np
from run_vx_train import Tests, make_model, read_tensors, write_data

ROWS, DISK, LIMIT = 64, 40 << 10, 20000  # bytes; a checkpoint has 43 KiB, the weights of an ONNX model 14 KiB


class FullDisk:
    """Runs vx-train where the folder `full` has no room for a checkpoint."""

    def __init__(self, tests):
        self.tests, self.folder = tests, tests.path("full")
        os.makedirs(self.folder)
        namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        self.prefix = [*namespace, "sh", "-c", f"mount -t tmpfs -o size={DISK} none '{self.folder}' && \"$@\"; code=$?; ls '{self.folder}' '{self.folder}'/run* >&2; exit $code", "sh"]
        try:
            self.is_possible = subprocess.run([*self.prefix, "true"], capture_output=True).returncode == 0
        except FileNotFoundError:
            self.is_possible = False

    def train(self, *arguments, temporary="."):
        """Ends with exit code 1; gives what it says, with the names of the folder in the lines behind that."""
        command = [*self.prefix, os.path.join(self.tests.tools, "vx-train"), *USUAL, *arguments]
        done = subprocess.run(command, cwd=self.tests.folder, capture_output=True, text=True, env={**os.environ, "TMPDIR": self.tests.path(temporary)})
        self.tests.check(" ".join(arguments), done.returncode == 1, f"exit code {done.returncode}, expected 1: {done.stderr}")
        return done.stderr


USUAL = ["mlp.vxm", "--device=cpu", "--threads=1", "--data=train", "--epochs=3", "--batch-size=32", "--lr=1e-2", "--seed=7"]
NO_SPACE = "No space left on device"


def check_outputs(tests, disk):
    """Each output is tried, whatever became of the one before, and what there is no room for goes to TMPDIR."""
    for number in ("", "2-"):
        told = disk.train("--save=full/a.safetensors", "--export=full/b.onnx", "--history=full/h.json", temporary="temporary")
        tests.check("outputs: the history is there", "h.json" in told.splitlines() and "a.safetensors" not in told.splitlines(), told)
        place = f"{tests.path('temporary')}/rescued-{number}a.safetensors"
        tests.check("outputs: told", f"cannot write 'full/a.safetensors': {NO_SPACE}; the checkpoint, from which --resume goes on, is in '{place}'" in told, told)
        tests.check("outputs: the checkpoint", tests.bytes_of(place) == tests.bytes_of("whole.safetensors"), "other bytes than on a disk with room")
    tests.check("outputs: the model", "b.onnx" in told.splitlines(), told)


def check_checkpoints(tests, disk):
    """A checkpoint that cannot be written ends training; what was trained until then goes on from where it is."""
    told = disk.train("--checkpoint=full/run", "--history=full/h.json", temporary="temporary")
    place = f"{tests.path('temporary')}/rescued-checkpoint-000000000002.safetensors"
    tests.check("checkpoints: told", "training ended after step 2: cannot write 'full/run/checkpoint-000000000002.safetensors'" in told and f"is in '{place}'" in told, told)
    tests.run("vx-train", *USUAL, f"--resume={place}", "--save=resumed.safetensors")
    tests.check("checkpoints: goes on", tests.bytes_of("resumed.safetensors") == tests.bytes_of("whole.safetensors"), "other bytes than in one go")
    told = disk.train("--checkpoint=full/run", "--save=elsewhere.safetensors", temporary="temporary")
    tests.check("checkpoints: in the file of --save", "rescued" not in told and read_tensors(tests.path("elsewhere.safetensors"))[1]["step"] == "2", told)


def check_folders(tests, disk):
    """Beside the folder of checkpoints first, and in the working folder last."""
    told = disk.train("--checkpoint=runs/run", "--save=full/c.safetensors", temporary="temporary")
    tests.check("folders: beside the checkpoints", f"is in '{tests.path('runs/rescued-c.safetensors')}'" in told and os.path.exists(tests.path("runs/rescued-c.safetensors")), told)
    told = disk.train("--save=full/d.safetensors", temporary="full")
    tests.check("folders: the working folder", f"is in '{tests.path('rescued-d.safetensors')}'" in told and os.path.exists(tests.path("rescued-d.safetensors")), told)


def check_limit(tests):
    """Where no folder has room for a checkpoint, all else is written nevertheless."""
    done = subprocess.run([os.path.join(tests.tools, "vx-train"), *USUAL, "--save=big.safetensors", "--export=small.onnx", "--history=small.json"], cwd=tests.folder, capture_output=True,
                          text=True, env={**os.environ, "TMPDIR": tests.path("temporary")}, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)))
    told = "the checkpoint, from which --resume goes on, could not be written to another folder either"
    tests.check("a limit: told", done.returncode == 1 and done.stderr.count("File too large") == 3 and told in done.stderr, f"{done.returncode}: {done.stderr}")
    left = [name for name in ("big.safetensors", "small.onnx", "small.json") if os.path.exists(tests.path(name))]
    tests.check("a limit: all else", left == ["small.onnx", "small.json"], left)
    tests.check("a limit: nothing half-written", not [name for name in os.listdir(tests.folder) + os.listdir(tests.path("temporary")) if "partial" in name], os.listdir(tests.folder))


def check_run(tests):
    """vx-run writes each of its outputs, too, and prints them, whatever became of the one before."""
    with open(tests.path("two.mlir"), "w") as file:
        file.write("""func.func @main(%x: tensor<8192xf32> {vx.name = "x"}) -> (tensor<8192xf32> {vx.name = "large"}, tensor<f32> {vx.name = "small"}) {
  %0 = vx.neg %x : tensor<8192xf32>
  %1 = vx.reduce sum %x axes = [0] : tensor<8192xf32>
  return %0, %1 : tensor<8192xf32>, tensor<f32>
}
""")
    tests.run("vx-compile", "two.mlir", "--target=cpu", "-o", "two.vxm")
    done = subprocess.run([os.path.join(tests.tools, "vx-run"), "two.vxm", "--device=cpu", "--output=large=@large.npy", "--output=small=@small.npy"], cwd=tests.folder,
                          capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)))
    tests.check("vx-run: told", done.returncode == 1 and done.stderr == "vx-run: error: cannot write 'large.npy': File too large\n" and "small: f32[]" in done.stdout,
                f"{done.returncode}: {done.stdout}{done.stderr}")
    tests.check("vx-run: the other one", os.path.exists(tests.path("small.npy")) and not os.path.exists(tests.path("large.npy")), os.listdir(tests.folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        tests = Tests(os.path.abspath(options.bin), os.path.realpath(folder))
        os.makedirs(tests.path("temporary"))
        write_data(tests.folder, "train", random.standard_normal((ROWS, 1, 8, 8)).astype(np.float32), random.integers(0, 10, ROWS))
        make_model(tests.path("mlp.onnx"))
        tests.run("vx-compile", "mlp.onnx", "--target=cpu", "--train=auto", "--loss=cross_entropy", "--optimizer=adamw", "-o", "mlp.vxm")
        tests.run("vx-train", *USUAL, "--save=whole.safetensors")
        disk = FullDisk(tests)
        if disk.is_possible:
            check_outputs(tests, disk)
            check_checkpoints(tests, disk)
            check_folders(tests, disk)
        check_limit(tests)
        check_run(tests)
        if not disk.is_possible:
            print("[ RUN      ] full_disk.tmpfs\na tmpfs cannot be mounted here\n[  SKIPPED ] full_disk.tmpfs")  # which scripts/test counts
        print(f"{tests.passed} passed, {tests.failed} failed")
    return 1 if tests.failed else 0


if __name__ == "__main__":
    sys.exit(main())
