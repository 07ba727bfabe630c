"""The format of the tests that lit runs."""
import os
import re

import lit.formats
import lit.Test

# The words that name a target in a test, or a driver, or code that targets share.
WORDS = {"cuda": "cuda|nvptx|nvvm|ptx|sm_[0-9]", "rocm": "rocm|rocdl|amdgpu|gfx[0-9]|hip", "vulkan": "vulkan|spirv|spv"}


class TestOfBuiltTargets(lit.formats.ShTest):
    """A test that names a target or a driver that VX_TARGETS or VX_DRIVERS leaves out is unsupported; so is one whose inputs do."""

    def __init__(self, source_root, built):
        super().__init__(execute_external=False)
        left_out = [words for name, words in WORDS.items() if name not in built]
        if not built & {"cuda", "rocm"}:
            left_out.append("llvmgpu|llvm-gpu")
        if not built & set(WORDS):
            left_out.append("gpu")
        self.source_root = source_root
        self.left_out = "|".join(left_out)

    def execute(self, test, lit_config):
        path = test.getSourcePath()
        paths = [path]
        with open(path, encoding="utf-8", errors="replace") as file:
            for name in re.findall(r"%S/([\w./-]+)", file.read()):
                paths.append(os.path.join(os.path.dirname(path), name))
        for one in filter(os.path.isfile, paths if self.left_out else []):
            with open(one, encoding="utf-8", errors="replace") as file:
                found = re.search(self.left_out, os.path.relpath(path, self.source_root) + "\n" + file.read(), re.IGNORECASE)
            if found:
                return lit.Test.Result(lit.Test.UNSUPPORTED, f"names '{found.group()}', which this build leaves out")
        return super().execute(test, lit_config)
