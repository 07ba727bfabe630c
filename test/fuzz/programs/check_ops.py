#!/usr/bin/env python3
"""Every op of docs/ops.md has a generator, or a reason for none. Exit code: 0 so it is, 1 it is not."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import vx_ops  # noqa: E402

# The compiler makes these; no program that is given has them.
MADE_BY_COMPILER = {"constraint", "dispatch", "fusion", "kernel"}
# They take gradients of the other ops: test/e2e/run_gradients.py.
GRADIENTS = {"custom_gradient", "gradient", "stop_gradient", "watch"}
# A training step decides what they compute: test/e2e/run_training_forms.py.
OF_TRAINING = {"batch_norm", "dropout"}
# The reference evaluator has no strings: test/e2e/run_strings.py.
OF_STRINGS = {"host_function"}


def main():
    with open(os.path.join(HERE, "..", "..", "..", "docs", "ops.md")) as file:
        ops = set(re.findall(r"^### `vx\.(\w+)`", file.read(), re.M))
    have = vx_ops.covered_ops()
    without = MADE_BY_COMPILER | GRADIENTS | OF_TRAINING | OF_STRINGS
    for name in sorted(ops - have - without):
        print(f"op 'vx.{name}' has no generator in test/fuzz/programs/vx_ops.py")
    for name in sorted((have | without) - ops):
        print(f"'vx.{name}' has a generator and is no op of docs/ops.md")
    print(f"{len(ops)} ops, {len(ops & have)} with a generator")
    return 1 if (ops - have - without) or ((have | without) - ops) or not ops else 0


if __name__ == "__main__":
    sys.exit(main())
