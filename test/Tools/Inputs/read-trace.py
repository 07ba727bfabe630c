"""What a trace of vx-run --trace says: the call, its kernels, and whether they lie in it one behind the other."""
import json
import sys

events = [event for event in json.load(open(sys.argv[1]))["traceEvents"] if event["ph"] == "X"]
call = next(event for event in events if event["cat"] == "call")
kernels = [event for event in events if event["cat"] == "kernel"]
print("call", call["name"])
ends = [0] + [event["ts"] + event["dur"] for event in kernels]
isRight = all(event["ts"] >= end - 1e-6 and event["dur"] > 0 for event, end in zip(kernels, ends)) and ends[-1] <= call["dur"]
print(f"kernels {len(kernels)} of {call['args']['dispatches']}", "in time and inside of the call" if isRight else "not in time", sep=", ")
for node in sorted({node for event in kernels for node in event["args"]["nodes"]}):
    print(node)
