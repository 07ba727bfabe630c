#!/usr/bin/env python3
"""Whether a filter that matches nothing fails every test and script that takes one.

  check_filters.py --bin BUILD/bin --source REPOSITORY

Each file that has such an option must be known here. A call fails well that names what matches nothing; a crash does not. Exit code: 0 all fail and say so,
1 some do not."""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

NAME = "no-such-name"
OPTIONS = r'(?:"--(?:filter|only|focus|kind)"|"names", nargs="\*")'
CPU, SOURCE = ["--device=cpu"], ["--source={source}"]
# By file, the arguments of each call that is to fail.
CALLS = {
    "scripts/bench-nodes": [[f"--filter={NAME}"]],
    "test/e2e/check_bad_models.py": [[NAME]],
    "test/e2e/exporter_forms.py": [[f"--filter={NAME}"]],
    "test/e2e/run_bad_calls.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_defaults.py": [[f"--filter={NAME}"]],
    "test/e2e/run_derived.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_evaluated.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_found.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_gradients.py": [[f"--filter={NAME}", "unary"], [f"--filter={NAME}", "conventions"]],
    "test/e2e/run_microsoft.py": [[*CPU, *SOURCE, f"--filter={NAME}"]],
    "test/e2e/run_nodes.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_ops.py": [[*CPU, f"--filter={NAME}", "norm"]],
    "test/e2e/run_state.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_static_cache.py": [[*CPU, *SOURCE, f"--filter={NAME}"]],
    "test/e2e/run_symbolic_sizes.py": [[f"--filter={NAME}"]],
    "test/e2e/run_torch_goldens.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_training.py": [[*CPU, *SOURCE, f"--filter={NAME}"]],
    "test/e2e/run_training_counts.py": [[*CPU, f"--filter={NAME}"]],
    "test/e2e/run_training_forms.py": [[*CPU, *SOURCE, f"--filter={NAME}"]],
    "test/e2e/train_memory.py": [[*SOURCE, f"--models={NAME}"]],
    "test/fuzz/programs/run_programs.py": [[*CPU, "--seeds=0:1", "--found={folder}", f"--focus={NAME}"], [*CPU, "--seeds=0:0", "--found={folder}"],
                                           [*CPU, "--seeds=0:1", "--found={folder}", f"--kind={NAME}"]],
    "test/fuzz/programs/run_rows.py": [["--seeds=0:0"]],
    "test/fuzz/programs/run_program_gradients.py": [["--seeds=0:0"], ["--seeds=0:1", f"--kind={NAME}"]],
    "test/llm/run_llama_cpp.py": [[NAME]],
    "test/mutants/run_gradient_mutants.py": [[f"--filter={NAME}"]],
    "test/serve/run_operation.py": [[f"--only={NAME}"]],
    "test/serve/run_grpc.py": [[f"--only={NAME}"]],
    "test/serve/run_placed.py": [[f"--only={NAME}"]],
    "test/serve/run_platform.py": [[f"--only={NAME}"]],
    "test/serve/run_proxies.py": [[f"--only={NAME}"]],
    "test/serve/run_pull.py": [[f"--only={NAME}"]],
    "test/serve/run_server.py": [["--losing-vulkan=none", f"--only={NAME}"]],
    "test/text/bench_tokenizers.py": [["--cache={folder}", NAME]],
    "test/text/run_tokenizers.py": [["--cache={folder}", NAME], ["--cache={folder}", f"--package={NAME}"]],
}


def has_filter(path):
    with open(path, errors="replace") as file:
        text = file.read()
    if path.endswith(".py") and "__main__" not in text:
        return False
    return re.search(r"^ *parser\.add_argument\(" + OPTIONS, text, re.M) or re.search(r"\bCallRuns\(", text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    wrong, count = [], 0
    files = glob.glob(f"{options.source}/test/**/*.py", recursive=True) + [path for path in glob.glob(f"{options.source}/scripts/*") if os.path.isfile(path)]
    for path in sorted(os.path.relpath(path, options.source) for path in files):
        if has_filter(os.path.join(options.source, path)) and path not in CALLS:
            wrong.append(f"{path} takes a filter, and is not known to {os.path.basename(__file__)}")
    with tempfile.TemporaryDirectory() as folder:
        for path, calls in CALLS.items():
            for arguments in calls:
                count += 1
                own = [] if path.startswith("scripts/") else [f"--bin={options.bin}"]
                command = [sys.executable, os.path.join(options.source, path), *own, *(text.format(source=options.source, folder=folder) for text in arguments)]
                environment = dict(os.environ, PYTHONPATH=os.path.join(os.path.dirname(options.bin), "python"))
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
                said = done.stdout + done.stderr
                # Numbers of seeds have no name to say.
                wanted = NAME if any(NAME in argument for argument in arguments) else "FAILED"
                if done.returncode not in (1, 2) or wanted not in said or "Traceback" in said:
                    wrong.append(f"{path} {' '.join(arguments)} ends with {done.returncode}, expected 1 or 2 and '{wanted}': {said.strip()[-300:]}")
    for text in wrong:
        print(f"FAILED {text}")
    print(f"{count} calls that match nothing, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
