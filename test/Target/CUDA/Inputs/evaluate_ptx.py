"""Computes what a kernel's PTX says, thread by thread, with no GPU: the values that come out show whether fragments, stages
and places fit together. Its tables of registers are its own, apart from the compiler's.

What a GPU leaves open is an error here: a register that nothing has written, a place outside of all buffers, and shared memory that one warp reads or
writes and another one writes with no barrier between. An asynchronous copy writes from its start to its wait. Shared memory begins as NaN.

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


class Race(AssertionError):
    """Two warps meet at a place of shared memory with no barrier between."""


class SharedMemory:
    """The bytes of a workgroup, and who has touched each since the last barrier."""

    def __init__(self, size):
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.flying = np.zeros(size, np.int64)  # asynchronous copies on their way to the byte
        self.meet()

    def meet(self):
        # The warp that has written or read the byte; -1: none, -2: several.
        self.writer = np.full(len(self.bytes), -1, np.int64)
        self.reader = np.full(len(self.bytes), -1, np.int64)

    def read(self, index, warps):
        """`index` has a row of places for each thread, whose warps are given."""
        if self.flying[index].any():
            raise Race("a copy that nobody has waited for is read")
        if ((self.writer[index] != -1) & (self.writer[index] != warps[:, None])).any():
            raise Race("a warp reads what another one has written, with no barrier between")
        self.mark(self.reader, index, warps)

    def write(self, index, warps):
        for other in (self.reader, self.writer):
            if ((other[index] != -1) & (other[index] != warps[:, None])).any():
                raise Race("a warp writes what another one has read or written, with no barrier between")
        self.mark(self.writer, index, warps)
        if (self.writer[index] == -2).any():
            raise Race("two warps write to one place")

    def mark(self, table, index, warps):
        for warp in np.unique(warps):
            places = index[warps == warp]
            known = table[places]
            table[places] = np.where((known == -1) | (known == warp), warp, -2)


class Group:
    """One workgroup. The threads at the least place in the code go on together, and wait for the others where all must meet."""

    def __init__(self, kernel, memory, block, number):
        self.kernel, self.memory = kernel, memory
        self.shared = SharedMemory(kernel.shared)
        self.count = kernel.threads
        self.warps = np.arange(self.count) // WARP
        self.everyone = np.ones(self.count, bool)
        self.active = self.everyone
        self.written = {}  # of each register, by which threads
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
                self.active = active
                held = self.value(predicate) != 0
                active &= ~held if negated else held
            place[place == at] += 1
            if op[0] == "bra":
                place[active] = self.kernel.labels[operands[0]]
            elif op[0] == "ret":
                place[active] = len(self.kernel.code)
            elif op[0] == "bar":
                self.shared.meet()
            elif active.any():
                self.active = active
                self.execute(op, operands, active)

    def choose(self, place):
        places = [at for at in np.unique(place) if at < len(self.kernel.code)]
        for at in places:
            if self.kernel.code[at][0][0] not in ("bar", "ldmatrix", "mma") or (place == at).all():
                return at
        raise AssertionError(f"threads wait for each other at the instructions {places}")

    def value(self, text):
        if text in self.registers:
            if not self.written.get(text, self.everyone)[self.active].all():
                raise AssertionError(f"register {text} is read by a thread that has not written it")
            return self.registers[text]
        if text.startswith("%"):
            raise AssertionError(f"register {text} is read and never written")
        if text.startswith("0f"):
            return self.all(int(text[2:], 16))
        if text in self.kernel.symbols:
            return self.all(self.kernel.symbols[text])
        return self.all(int(text, 0))

    def write(self, name, value, active, bits=64):
        old = self.registers.get(name)
        self.written[name] = self.written.get(name, ~self.everyone) | active
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
        else:
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

    def places(self, op, first, count, active):
        """The indices of `count` bytes from each active thread's place, checked, and the bytes that they are of."""
        index = first[active].astype(np.int64)[:, None] + np.arange(count)
        shared = "shared" in op
        size = len(self.shared.bytes) if shared else len(self.memory.bytes)
        if index.size and (index.min() < 0 or index.max() >= size or not (shared or self.memory.mapped[index].all())):
            raise IndexError(f"{'.'.join(op)} at {index.min():#x} to {index.max():#x}, outside of all buffers")
        return index, self.shared.bytes if shared else self.memory.bytes

    def access(self, op, operands, bits, active):
        is_load = op[0] == "ld"
        target, place = (operands[0], operands[1]) if is_load else (operands[1], operands[0])
        names = re.findall(r"[^\s,{}]+", target)
        places, size = self.address(place), bits // 8
        if (places[active] % np.uint64(size * len(names))).any():
            raise AssertionError(f"{'.'.join(op)} at a place that is not aligned")
        for k, name in enumerate(names):
            index, memory = self.places(op, places + np.uint64(k * size), size, active)
            if "shared" in op:
                (self.shared.read if is_load else self.shared.write)(index, self.warps[active])
            if is_load:
                value = self.all(0)
                value[active] = sum(memory[index[:, byte]].astype(np.uint64) << np.uint64(8 * byte) for byte in range(size))
                self.write(name, value, active, bits)
            else:
                value = self.value(name)
                for byte in range(size):
                    memory[index[:, byte]] = (value >> np.uint64(8 * byte)).astype(np.uint8)[active]

    def load_matrix(self, op, operands):
        """Four parts of 8 rows of 16 bytes: thread 8 * part + row of a warp tells the row's place."""
        assert op[4] == "x4"
        names = re.findall(r"%\w+", operands[0])
        places = self.address(operands[1])
        if (places % np.uint64(16)).any():
            raise AssertionError("ldmatrix at a place that is not aligned")
        index, memory = self.places(op, places, 16, self.everyone)
        self.shared.read(index, self.warps)
        rows = np.ascontiguousarray(memory[index]).view(np.uint16).astype(np.uint64)
        rows = rows.reshape(-1, 4, 8, 8)  # warp, part, row, element
        if "trans" in op:
            rows = rows.transpose(0, 1, 3, 2)
        pairs = rows.reshape(-1, 4, 8, 4, 2)
        words = pairs[..., 0] | pairs[..., 1] << np.uint64(16)
        for part, name in enumerate(names):
            # Thread t has the pair t % 4 of row t / 4.
            self.write(name, words[:, part].reshape(-1), self.everyone)

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
            self.write(name, to_bits(d[:, group + (0 if i < 2 else 8), place * 2 + (i & 1)].reshape(-1)), self.everyone)

    def copy(self, op, operands, active):
        """Copies arrive as late as they may: when they are waited for."""
        if op[2] == "commit_group":
            self.stages.append(self.pending)
            self.pending = []
        elif op[2] == "wait_group":
            keep = int(operands[0])
            while len(self.stages) > keep:
                for index, data, warps in self.stages.pop(0):
                    self.shared.flying[index] -= 1
                    self.shared.write(index, warps)
                    self.shared.bytes[index] = data
        else:
            target, source, size = self.address(operands[0]), self.address(operands[1]), int(operands[2])
            read = self.value(operands[3]).astype(np.int64)
            reads = active & (read > 0)
            if (target[active] % np.uint64(size)).any() or (source[reads] % np.uint64(size)).any():
                raise AssertionError("cp.async at a place that is not aligned")
            data = np.zeros((self.count, size), np.uint8)
            for count in np.unique(read[reads]):
                some = reads & (read == count)
                index, memory = self.places(["global"], source, int(count), some)
                data[some, :count] = memory[index]
            index, _ = self.places(["shared"], target, size, active)
            self.shared.write(index, self.warps[active])
            self.shared.flying[index] += 1
            self.pending.append((index, data[active], self.warps[active]))


class Memory:
    """Global memory: bytes, and which of them belong to a buffer."""

    def __init__(self, size):
        self.bytes = np.full(size, 0xFF, np.uint8)
        self.mapped = np.zeros(size, bool)

    def place(self, address, data):
        self.bytes[address:address + len(data)] = data
        self.mapped[address:address + len(data)] = True


def evaluate(text, buffers, scalars, workgroups, only=None):
    """`only` names the workgroups to run; all by default."""
    kernel = Kernel(text)
    addresses, end = [], GLOBAL
    for buffer in buffers:
        addresses.append(end)
        end += -(-max(1, buffer.nbytes) // ALIGNMENT) * ALIGNMENT
    block = end  # fault record, workspace, workgroups, first fault site, buffers, scalars
    words = np.array([0, 0, workgroups, 0, *addresses, *scalars], np.uint64)
    memory = Memory(block + words.nbytes)
    for address, buffer in zip(addresses, buffers):
        memory.place(address, np.frombuffer(buffer.tobytes(), np.uint8))
    memory.place(block, words.view(np.uint8))
    for number in range(workgroups) if only is None else only:
        Group(kernel, memory, block, number).run()
    for address, buffer in zip(addresses, buffers):
        buffer[...] = memory.bytes[address:address + buffer.nbytes].view(buffer.dtype).reshape(buffer.shape)
