"""Computes what a kernel's PTX says, thread by thread, with no GPU: the values that come out show whether fragments, stages
and places fit together. Its tables of registers are its own, apart from the compiler's.

evaluate(text, buffers, scalars, workgroups) runs every workgroup one after the other; `buffers` are numpy arrays and the
written ones change in place. Instructions are those of the kernels that the tests here evaluate; another one is an error.
"""
import re

import numpy as np

GLOBAL = 1 << 20  # address of the first buffer
ALIGNMENT = 256
WARP = 32


def from_bits(bits, kind):
    """Registers as f64 values of the float type that they hold."""
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    if kind == "tf32":  # the low bits are not read
        return (bits.astype(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def to_bits(values):
    return np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)


class Kernel:
    def __init__(self, text):
        self.threads = int(re.search(r"\.reqntid (\d+)", text).group(1))
        self.symbols, shared = {}, 0
        for name, size in re.findall(r"\.shared .align 16 .b8 (\S+)\[(\d+)\]", text):
            self.symbols[name] = shared
            shared += -(-int(size) // 16) * 16
        self.shared = shared
        body = re.sub(r"//[^\n]*", "", text[text.index("{", text.index(".entry")) + 1:text.rindex("}")])
        body = re.sub(r"(\$\w+):", r"\1:;", body)
        self.labels, self.code = {}, []
        for line in body.split(";"):
            line = " ".join(line.split())
            if line.endswith(":"):
                self.labels[line[:-1]] = len(self.code)
            elif line and not line.startswith("."):
                match = re.fullmatch(r"(?:@(!?)(%p\d+) )?(\S+)(?: (.*))?", line)
                negated, predicate, op, operands = match.groups()
                split = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", operands or "")
                self.code.append((op.split("."), split, predicate, bool(negated)))


class Group:
    """One workgroup. The threads at the least place in the code go on together, and wait for the others where all must meet."""

    def __init__(self, kernel, memory, block, number):
        self.kernel, self.memory = kernel, memory
        self.shared = np.zeros(kernel.shared, np.uint8)
        self.count = kernel.threads
        self.registers = {"%tid.x": np.arange(self.count, dtype=np.uint64), "%ctaid.x": self.all(number), "%ctaid.y": self.all(0)}
        self.parameter = block
        self.pending, self.stages = [], []  # asynchronous copies that nobody has waited for

    def all(self, value):
        return np.full(self.count, value & 0xFFFFFFFFFFFFFFFF, np.uint64)

    def run(self):
        place = np.zeros(self.count, np.int64)
        while place.min() < len(self.kernel.code):
            at = self.choose(place)
            active = place == at
            op, operands, predicate, negated = self.kernel.code[at]
            if predicate:
                held = self.registers[predicate] != 0
                active &= ~held if negated else held
            place[place == at] += 1
            if op[0] == "bra":
                place[active] = self.kernel.labels[operands[0]]
            elif op[0] == "ret":
                place[active] = len(self.kernel.code)
            elif active.any():
                self.execute(op, operands, active)

    def choose(self, place):
        places = [at for at in np.unique(place) if at < len(self.kernel.code)]
        for at in places:
            if self.kernel.code[at][0][0] not in ("bar", "ldmatrix", "mma") or (place == at).all():
                return at
        raise AssertionError(f"threads wait for each other at the instructions {places}")

    def value(self, text):
        if text in self.registers:
            return self.registers[text]
        if text.startswith("%"):
            return self.all(0)  # never written: of no matter
        if text.startswith("0f"):
            return self.all(int(text[2:], 16))
        if text in self.kernel.symbols:
            return self.all(self.kernel.symbols[text])
        return self.all(int(text, 0))

    def write(self, name, value, active, bits=64):
        old = self.registers.get(name)
        value = np.asarray(value).astype(np.uint64) & np.uint64((1 << bits) - 1)
        self.registers[name] = value.copy() if old is None else np.where(active, value, old)

    def address(self, text):
        base, _, offset = text.strip("[]").partition("+")
        return self.value(base) + np.uint64(int(offset or 0) & 0xFFFFFFFFFFFFFFFF)

    def execute(self, op, operands, active):
        kind = op[-1]
        bits = int(kind[1:]) if re.fullmatch(r"[bus](8|16|32|64)", kind) else 64
        get = lambda k: self.value(operands[k])

        def signed(k):
            value = get(k) & np.uint64((1 << bits) - 1)
            return (value.astype(np.int64) << np.int64(64 - bits)) >> np.int64(64 - bits)

        number = signed if kind.startswith("s") else lambda k: get(k) & np.uint64((1 << bits) - 1)
        put = lambda value, width=bits: self.write(operands[0], value, active, width)
        name = op[0]
        if name == "mov" and "{" in "".join(operands):
            self.move_parts(operands, bits, active)
        elif name in ("mov", "cvta"):
            put(get(1))
        elif kind == "pred":
            other = np.uint64(1) if name == "not" else get(2)
            put({"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.bitwise_xor}[name](get(1), other))
        elif name == "add" and kind == "f32":
            put(to_bits(from_bits(get(1), "f32") + from_bits(get(2), "f32")), 32)
        elif name in ("add", "sub"):
            put(get(1) + get(2) if name == "add" else get(1) - get(2))
        elif name in ("mul", "mad") and op[1] == "hi":
            wide = number(1).astype(object) * number(2).astype(object)
            put(np.array([int(product) >> bits for product in wide], object).astype(np.uint64))
        elif name in ("mul", "mad"):
            product = number(1) * number(2)
            put(product + (get(3) if name == "mad" else np.uint64(0)), 2 * bits if op[1] == "wide" else bits)
        elif name in ("and", "or", "xor"):
            put({"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[name](get(1), get(2)))
        elif name == "shl":
            put(get(1) << get(2))
        elif name == "shr":
            put(number(1) >> get(2).astype(number(1).dtype))
        elif name == "bfe":
            put((get(1) >> get(2)) & ((np.uint64(1) << get(3)) - np.uint64(1)))
        elif name in ("min", "max"):
            put(np.minimum(number(1), number(2)) if name == "min" else np.maximum(number(1), number(2)))
        elif name in ("div", "rem"):
            divisor = np.where(active, number(2), 1).astype(number(2).dtype)
            put(number(1) // divisor if name == "div" else number(1) % divisor)
        elif name == "selp":
            put(np.where(get(3) != 0, get(1), get(2)))
        elif name == "setp":
            compare = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
            put(compare[op[1]](number(1), number(2)), 1)
        elif op[:3] == ["cvt", "rna", "tf32"]:  # to nearest, ties away from zero
            put((get(1) + np.uint64(0x1000)) & np.uint64(0xFFFFE000), 32)
        elif name == "cvt" and "f32" not in op:
            put(number(1), int(op[-2][1:]))
        elif name == "ld" and op[1] == "param":
            put(self.all(self.parameter))
        elif name in ("ld", "st"):
            self.access(op, operands, bits, active)
        elif name == "ldmatrix":
            self.load_matrix(op, operands)
        elif name == "mma":
            self.multiply(op, operands)
        elif op[:2] == ["cp", "async"]:
            self.copy(op, operands, active)
        elif op[0] != "bar":
            raise NotImplementedError(".".join(op))

    def move_parts(self, operands, bits, active):
        if operands[0].startswith("{"):
            names = re.findall(r"%\w+|_", operands[0])
            width, value = bits // len(names), self.value(operands[1])
            for k, name in enumerate(names):
                self.write(name, value >> np.uint64(k * width), active, width)
        else:
            names = re.findall(r"[^\s,{}]+", operands[1])
            width = bits // len(names)
            joined = self.all(0)
            for k, name in enumerate(names):
                joined |= (self.value(name) & np.uint64((1 << width) - 1)) << np.uint64(k * width)
            self.write(operands[0], joined, active, bits)

    def space(self, op):
        return self.shared if "shared" in op else self.memory

    def gather(self, memory, places, count, active):
        """`count` bytes from each place; a place outside of memory is an error."""
        index = places.astype(np.int64)[:, None] + np.arange(count)
        index[~active] = 0
        if index.min() < 0 or index.max() >= len(memory):
            raise IndexError(f"access to {index.max():#x} of {len(memory):#x} bytes")
        return memory[index], index

    def access(self, op, operands, bits, active):
        is_load = op[0] == "ld"
        target, place = (operands[0], operands[1]) if is_load else (operands[1], operands[0])
        names = re.findall(r"[^\s,{}]+", target)
        places, size = self.address(place), bits // 8
        if (places[active] % np.uint64(size * len(names))).any():
            raise AssertionError(f"{'.'.join(op)} at a place that is not aligned")
        memory = self.space(op)
        for k, name in enumerate(names):
            data, index = self.gather(memory, places + np.uint64(k * size), size, active)
            if is_load:
                value = sum(data[:, byte].astype(np.uint64) << np.uint64(8 * byte) for byte in range(size))
                self.write(name, value, active, bits)
            else:
                value = self.value(name)
                for byte in range(size):
                    memory[index[active, byte]] = (value >> np.uint64(8 * byte)).astype(np.uint8)[active]

    def load_matrix(self, op, operands):
        """Four parts of 8 rows of 16 bytes: thread 8 * part + row of a warp tells the row's place."""
        assert op[4] == "x4"
        names = re.findall(r"%\w+", operands[0])
        places = self.address(operands[1])
        if (places % np.uint64(16)).any():
            raise AssertionError("ldmatrix at a place that is not aligned")
        rows = self.gather(self.shared, places, 16, np.ones(self.count, bool))[0].view(np.uint16).astype(np.uint64)
        rows = rows.reshape(-1, 4, 8, 8)  # warp, part, row, element
        if "trans" in op:
            rows = rows.transpose(0, 1, 3, 2)
        pairs = rows.reshape(-1, 4, 8, 4, 2)
        words = pairs[..., 0] | pairs[..., 1] << np.uint64(16)
        for part, name in enumerate(names):
            # Thread t has the pair t % 4 of row t / 4.
            self.registers[name] = words[:, part].reshape(-1).copy()

    def multiply(self, op, operands):
        rows, columns, depth = map(int, re.fullmatch(r"m(\d+)n(\d+)k(\d+)", op[3]).groups())
        kind, per_word = op[7], 1 if op[7] == "tf32" else 2
        lists = [re.findall(r"[^\s,{}]+", operand) for operand in operands]
        lane = np.arange(WARP)
        group, place = lane // 4, lane % 4

        def elements(names, kind):
            per = 1 if kind in ("tf32", "f32") else 2
            words = [self.value(name).reshape(-1, WARP) for name in names]
            return [from_bits(word >> np.uint64(16 * half) & np.uint64(0xFFFF if per == 2 else 0xFFFFFFFF), kind)
                    for word in words for half in range(per)]

        warps = self.count // WARP
        a, b, c = np.zeros((warps, rows, depth)), np.zeros((warps, depth, columns)), np.zeros((warps, rows, columns))
        for i, value in enumerate(elements(lists[1], kind)):
            if per_word == 2:
                row = group + (0 if i < 2 or 4 <= i < 6 else 8)
                column = place * 2 + (i & 1) + (8 if i >= 4 else 0)
            else:
                row, column = group + (0 if i in (0, 2) else 8), place + (0 if i < 2 else 4)
            a[:, row, column] = value
        for i, value in enumerate(elements(lists[2], kind)):
            row = place * 2 + (i & 1) + (8 if i >= 2 else 0) if per_word == 2 else place + 4 * i
            b[:, row, group] = value
        for i, value in enumerate(elements(lists[3], "f32")):
            c[:, group + (0 if i < 2 else 8), place * 2 + (i & 1)] = value
        d = c + a @ b
        for i, name in enumerate(lists[0]):
            self.registers[name] = to_bits(d[:, group + (0 if i < 2 else 8), place * 2 + (i & 1)].reshape(-1)).copy()

    def copy(self, op, operands, active):
        """Copies arrive as late as they may: when they are waited for."""
        if op[2] == "commit_group":
            self.stages.append(self.pending)
            self.pending = []
        elif op[2] == "wait_group":
            keep = int(operands[0])
            while len(self.stages) > keep:
                for index, data in self.stages.pop(0):
                    self.shared[index] = data
        else:
            target, source, size = self.address(operands[0]), self.address(operands[1]), int(operands[2])
            read = self.value(operands[3]).astype(np.int64)
            if (target[active] % np.uint64(size)).any() or (source[active & (read > 0)] % np.uint64(size)).any():
                raise AssertionError("cp.async at a place that is not aligned")
            data = self.gather(self.memory, source, size, active & (read > 0))[0].copy()
            data[np.arange(size) >= read[:, None]] = 0
            index = self.gather(self.shared, target, size, active)[1]
            self.pending.append((index[active], data[active]))


def evaluate(text, buffers, scalars, workgroups):
    kernel = Kernel(text)
    addresses, end = [], GLOBAL
    for buffer in buffers:
        addresses.append(end)
        end += -(-max(1, buffer.nbytes) // ALIGNMENT) * ALIGNMENT
    block = end  # fault record, workspace, workgroups, first fault site, buffers, scalars
    words = np.array([0, 0, workgroups, 0, *addresses, *scalars], np.uint64)
    memory = np.zeros(block + words.nbytes, np.uint8)
    for address, buffer in zip(addresses, buffers):
        memory[address:address + buffer.nbytes] = np.frombuffer(buffer.tobytes(), np.uint8)
    memory[block:] = words.view(np.uint8)
    # What lies between the buffers is not a number: to read it shows.
    for address, buffer in zip(addresses, buffers):
        behind = address + buffer.nbytes
        memory[behind:-(-behind // ALIGNMENT) * ALIGNMENT] = 0xFF
    for number in range(workgroups):
        Group(kernel, memory, block, number).run()
    for address, buffer in zip(addresses, buffers):
        buffer[...] = memory[address:address + buffer.nbytes].view(buffer.dtype).reshape(buffer.shape)
