"""What of the compiler the programs ran through: ops by strategy and target, barriers and results in place, from its own reports."""
import re
import threading
from collections import Counter

SCHEDULES = 8  # one module of so many is asked for its schedule too


class Coverage:
    def __init__(self):
        self.lock = threading.Lock()
        self.kernels, self.decisions, self.ops, self.modules = Counter(), Counter(), Counter(), 0

    def wants_schedule(self):
        with self.lock:
            self.modules += 1
            return self.modules % SCHEDULES == 1

    def add(self, report, schedule, programs):
        with self.lock:
            for kernel in report["kernels"]:
                strategy = re.match(r'#vx\.strategy<"(\w+)"', kernel["strategy"])
                anchor = re.sub(r"_\d+$", "", kernel["name"])
                for op in known_words(anchor):
                    self.kernels[op, strategy[1] if strategy else kernel["strategy"], kernel["target"]] += 1
            for program in programs:
                self.ops.update(program.kinds())
            for target, text in re.findall(r"// target (\w+)\n(.*?)(?=// target |\Z)", schedule, re.S):
                for line in text.split("\n"):
                    match = re.search(r"vxrt\.(dispatch|copy) (barrier )?", line)
                    if match:
                        self.decisions[f"{match[1]} {'behind a barrier' if match[2] else 'without one'}", target] += SCHEDULES
                    match = re.search(r"vxrt\.dispatch .*\] \((.*?)\) -> \((.*?)\) scalars", line)
                    if match and set(match[1].split(", ")) & set(match[2].split(", ")) - {""}:
                        self.decisions["result in place", target] += SCHEDULES
                    if "vxrt.arena_slice" in line:
                        self.decisions["slice of the arena", target] += SCHEDULES

    def lacking(self, devices, least):
        """What was met less than `least` times, of what programs are to meet on every device."""
        lines = []
        for target in devices:
            for decision in ("dispatch behind a barrier", "dispatch without one", "result in place", "slice of the arena"):
                if self.decisions[decision, target] < least:
                    lines.append(f"{decision} on {target}: {self.decisions[decision, target]}, want {least}")
        return lines

    def text(self):
        lines = []
        for (op, strategy, target), number in sorted(self.kernels.items()):
            lines.append(f"  {op} as {strategy} on {target}: {number}")
        for (decision, target), number in sorted(self.decisions.items()):
            lines.append(f"  {decision} on {target}: {number}")
        return "\n".join(lines)


# Longest first: a kernel is named after its ops with an underscore between two.
NAMES = sorted("""abs add and arg_reduce attention broadcast cast ceil compare concat constant contract conv cos count_nonzero div erf exp floor gather iota is_inf
is_nan layer_norm log max min mul neg nonzero not or pack pad pow reduce reduce_window rem reshape rms_norm round select sign sin slice softmax sqrt sub tanh
transpose unpack xor""".split(), key=len, reverse=True)


def known_words(name):
    found = []
    while name:
        match = next((op for op in NAMES if name == op or name.startswith(op + "_")), None)
        if match:
            found.append(match)
            name = name[len(match) + 1:]
        else:
            name = name.partition("_")[2]
    return found
