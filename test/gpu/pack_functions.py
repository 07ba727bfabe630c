"""The functions and layers of test/dsl/cases.cpp: one module, and a line of arguments for vx-run per function, by which a device's results are
compared with the CPU's where the GPU is."""
import json
import os
import subprocess

SIZE = 17
OTHERS = {"x_1": 4, "b_1": 4}  # dims that are known at the call, and which the graph wants to be this


def pack_functions(bin, out, targets):
    folder = os.path.join(out, "functions")
    os.makedirs(folder)
    module = os.path.join(folder, "cases.vxm")
    subprocess.run([os.path.join(bin, "dsl_cases"), folder, ",".join(["cpu", *targets])], check=True, stdout=subprocess.DEVNULL)
    functions = json.loads(subprocess.run([os.path.join(bin, "vx-info"), module, "--json"], check=True, capture_output=True).stdout)["functions"]
    with open(os.path.join(folder, "arguments"), "w") as file:
        for function in functions:
            dims = [f"--dim {symbol['name']}={OTHERS.get(symbol['name'], SIZE)}" for symbol in function["symbols"]]
            print(f"--function={function['name']}", *dims, file=file)
