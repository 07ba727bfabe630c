"""What of the compiler the programs ran through, read from its own schedules: ops by strategy and target, results computed in an operand's place,
barriers, copies. What is to be met has a floor."""
import re
import threading
from collections import Counter

ELEMENTWISE = """abs acos add and asin atan cast ceil compare cos div erf exp floor is_inf is_nan log max min mul neg not or pow rem round select sign sin sqrt sub tanh xor"""
MOVES = "broadcast concat gather iota pad random_bits slice transpose"
# By target and strategy, the ops that may get it; "elementwise" is any such op that such a kernel begins or ends with.
STRATEGIES = {
    "cpu": {"loops": f"{ELEMENTWISE} {MOVES} arg_reduce contract copy cumulative_sum elementwise layer_norm merge_runs pack reduce reduce_window rms_norm softmax unpack",
            "cpu_product": "contract conv elementwise", "cpu_depthwise": "conv", "cpu_flash": "attention", "cpu_sort": "top_places select_boxes", "serial": "count_nonzero nonzero"},
    "vulkan": {"elementwise": f"{ELEMENTWISE} {MOVES}", "loops": "arg_reduce contract conv copy elementwise merge_runs pack reduce_window unpack",
               "tiled_product": "contract conv elementwise", "rows by workgroup": "contract elementwise layer_norm reduce rms_norm softmax",
               "rows by columns": "contract elementwise reduce softmax", "rows by subgroup": "contract elementwise layer_norm reduce rms_norm softmax",
               "thread_rows": "contract elementwise layer_norm reduce rms_norm softmax", "flash": "attention", "sort": "top_places select_boxes", "serial": "count_nonzero nonzero"},
}
DECISIONS = (
    # Results and operands. An operand that is given twice is counted too, but has no floor: none of the programs has one any more, and test/Memory/carry-in-place.mlir does.
    "in place", "in place of one of several operands", "in place in a loop or branch", "in place twice in one slot", "not in place: the operand is read later",
    "not in place: the operand is the caller's", "not in place: the operand is held beyond its commands",
    "not in place: the result is held beyond its commands", "not in place: no operand has the result's elements",
    # Barriers.
    "barrier: reads what was written", "barrier: writes in the place of what was read", "barrier: memory is used anew", "no barrier: first of a segment",
    "no barrier: shares nothing", "no barrier: reads what others read",
    # Copies.
    "copy to a variable", "copy of a result", "slice of the arena", "slice at an offset of symbols")


class Coverage:
    def __init__(self):
        self.lock = threading.Lock()
        self.kernels, self.decisions, self.modules = Counter(), Counter(), 0

    def add(self, schedule):
        with self.lock:
            self.modules += 1
            for target, text in re.findall(r"^// target (\w+)\n(.*?)(?=^// target |\Z)", schedule, re.S | re.M):
                in_place = self.add_kernels(target, text)
                for program in re.findall(r"^  vxrt\.program .*?^  \}", text, re.S | re.M):
                    self.decisions.update((decision, target) for decision in decisions(program, in_place))

    def add_kernels(self, target, text):
        """The operands in whose place each kernel may write its result."""
        in_place = {}
        for kernel in re.findall(r"^  vx\.kernel .*?^  \}", text, re.S | re.M):
            head = kernel.partition("\n")[0]
            name, strategy, sharing = re.match(r'  vx\.kernel @(\S+) ".*?" symbols .*? #vx\.(\w+)(?:<tile = \[.*?\], sharing = (\w+))?', head).groups()
            strategy += f" by {sharing}" if sharing else ""
            found = re.search(r"vx\.in_place = array<i64: ([\d, ]+)>", head)
            in_place[name] = [int(index) for index in found[1].split(", ")[::2]] if found else []
            ops = set(re.findall(r"^    (?:%\S+(?:, %\S+)* = )?vx\.(\w+)", kernel, re.M)) - {"yield"}
            anchor = re.search(r"^    %.* = vx\.(\w+) .*\bvx\.anchor\b", kernel, re.M)
            if anchor:
                self.kernels[anchor[1], strategy, target] += 1
                if ops & set(ELEMENTWISE.split()):
                    self.kernels["elementwise", strategy, target] += 1
            else:
                for op in ops - {"constant", "dim_value"} or {"copy"}:
                    self.kernels[op, strategy, target] += 1
        return in_place

    def rarest(self, devices, count):
        """The ops that were met least as one of their strategies, on one of `devices`."""
        with self.lock:
            # A kernel that copies what no op computes gives a size as a value.
            met = sorted((self.kernels[op, strategy, target], "dim_value" if op == "copy" else op) for target in devices
                         for strategy, ops in STRATEGIES.get(target, {}).items() for op in ops.split() if op != "elementwise")
        return list(dict.fromkeys(op for _, op in met))[:count]

    def lacking(self, devices, least):
        """What was met less than `least` times, of what programs are to meet on every device."""
        wanted = {(name, target): self.decisions[name, target] for target in devices for name in DECISIONS if target in STRATEGIES}
        wanted.update({(f"{op} as {strategy}", target): self.kernels[op, strategy, target] for target in devices if target in STRATEGIES
                       for strategy, ops in STRATEGIES[target].items() for op in ops.split()})
        return [f"{name} on {target}: {number}, expected {least}" for (name, target), number in wanted.items() if number < least]

    def text(self):
        lines = [f"  {op} as {strategy} on {target}: {number}" for (op, strategy, target), number in sorted(self.kernels.items())]
        return "\n".join(lines + [f"  {decision} on {target}: {number}" for (decision, target), number in sorted(self.decisions.items())])


def names(text):
    return re.findall(r"%[\w#]+", text)


def decisions(program, in_place):
    """The decisions of one program, each as often as it was made."""
    lines = program.split("\n")
    offsets, held, constants, variables, uses = {}, set(), set(), set(), Counter()
    entry = set(names(lines[1])) if len(lines) > 1 else set()
    for line in lines[2:]:
        match = re.match(r" *(%[\w#]+) = vxrt\.(\w+) (.*)", line)
        if match:
            name, op, rest = match.groups()
            if op == "arena_slice":
                offsets[name] = names(rest)[0]
            elif op == "allocate":
                held.add(name)
            elif op in ("constant", "derived"):
                constants.add(name)
            elif op == "variable":
                variables.add(name)
            elif op == "const":
                constants.add(name)
    found, slots = [], Counter()
    for name, offset in offsets.items():
        found.append("slice of the arena")
        if offset not in constants:
            found.append("slice at an offset of symbols")
    commands = [(line, re.search(r"vxrt\.(dispatch|copy) ", line)) for line in lines]
    last_read = {}
    for number, (line, command) in enumerate(commands):
        if command:
            for name in names(reads_of(line, command[1])):
                last_read[name] = number
    reads, writes, first, inner = set(), set(), True, False
    for number, (line, command) in enumerate(commands):
        if "vxrt.segment" in line:
            reads, writes, first = set(), set(), True
            inner = len(line) - len(line.lstrip()) > 4
        if not command:
            continue
        sources, targets = names(reads_of(line, command[1])), names(writes_of(line, command[1]))
        if " barrier " in line:
            if set(sources) & writes:
                found.append("barrier: reads what was written")
            places = {offsets.get(name, name) for name in targets}
            if places & {offsets.get(name, name) for name in sources if name in offsets}:
                found.append("barrier: writes in the place of what was read")
            elif not set(sources) & writes:
                found.append("barrier: memory is used anew")
            reads, writes = set(), set()
        elif first:
            found.append("no barrier: first of a segment")
        else:
            found.append("no barrier: reads what others read" if set(sources) & reads else "no barrier: shares nothing")
        reads.update(sources), writes.update(targets)
        first = False
        if command[1] == "copy":
            found.append("copy to a variable" if targets[0] in variables else "copy of a result")
            continue
        kernel = re.search(r"@([\w.]+)\[", line)[1]
        place = offsets.get(targets[0]) if len(targets) == 1 else None
        shared = [name for name in sources if name in offsets and offsets[name] == place]
        if shared:
            found.append("in place")
            if len(sources) > 1:
                found.append("in place of one of several operands")
            if inner:
                found.append("in place in a loop or branch")
            slots[targets[0]] = slots[shared[0]] + 1
            if slots[targets[0]] == 2:
                found.append("in place twice in one slot")
            continue
        operands = [sources[index] for index in in_place.get(kernel, [])]
        if not operands:
            if sources:
                found.append("not in place: no operand has the result's elements")
        elif place is None:
            found.append("not in place: the result is held beyond its commands")
        for name in operands:
            if name in entry:
                found.append("not in place: the operand is the caller's")
            elif sources.count(name) > 1:
                found.append("not in place: the operand is given twice")
            elif name in held:
                found.append("not in place: the operand is held beyond its commands")
            elif last_read[name] > number:
                found.append("not in place: the operand is read later")
    return found


def reads_of(line, kind):
    return re.search(r"\] \((.*?)\) -> \(", line)[1] if kind == "dispatch" else line.split("vxrt.copy")[1].split(",")[0]


def writes_of(line, kind):
    return re.search(r"\) -> \((.*?)\) scalars", line)[1] if kind == "dispatch" else line.split("vxrt.copy")[1].split(",")[1].split(":")[0]
