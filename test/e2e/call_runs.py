"""What the tests that run scripts of calls have in common: their options, how modules are compiled and scripts run, and how they end."""
import argparse
import os
import subprocess
import tempfile

from cpu_variants import variant_flags
from run_models import required_devices


class CallRuns:
    """A test's options and devices, a folder for as long as it is entered, and the count of what passed. `more` are options of its own, which it must be given."""

    def __init__(self, *more):
        parser = argparse.ArgumentParser()
        for name in ("--bin", *more):
            parser.add_argument(name, required=True)
        parser.add_argument("--device", default="cpu,vulkan")
        parser.add_argument("--variants", action="append", default=[])
        parser.add_argument("--filter", default="")
        self.options = parser.parse_args()
        self.devices = required_devices(self.options.bin, self.options.device)
        self.variants = variant_flags(self.devices, self.options.variants)
        self.passed = self.failed = 0

    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory()
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def file(self, name):
        return os.path.join(self.scratch.name, name)

    def wants(self, name):
        return self.options.filter in name

    def tool(self, name, *arguments):
        return subprocess.run([os.path.join(self.options.bin, name), *arguments], capture_output=True, text=True)

    def compile(self, source, module, *flags):
        """For all devices. What vx-compile prints, and the reason where it fails, or None."""
        ran = self.tool("vx-compile", source, f"-target={','.join(self.devices)}", *self.variants, "--no-cache", "-o", module, *flags)
        return ran.stdout, f"vx-compile: {ran.stderr.strip()}" if ran.returncode else None

    def answers(self, module, device, threads, lines, seed=0):
        """What run_calls answers to the calls of a script, and the reason where it fails, or None."""
        ran = subprocess.run([os.path.join(self.options.bin, "run_calls"), module, device, str(threads), str(seed)], input="\n".join(lines) + "\n",
                             capture_output=True, text=True, env=dict(os.environ, VX_CHECK_SCHEDULE="1"))
        if ran.returncode:
            return [], f"exit code {ran.returncode}: {ran.stderr.strip()}"
        return ran.stdout.strip().split("\n"), None

    def count(self, what, found):
        """`found` is the first difference, or None."""
        if found:
            self.failed += 1
            print(f"FAILED {what}: {found}")
        else:
            self.passed += 1

    def end(self):
        """The exit code."""
        if not self.passed + self.failed:
            print(f"FAILED no case matches '{self.options.filter}'")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
