"""Event files of TensorBoard, without its package.

A file is a sequence of records: the length in 8 bytes, its check sum, the data, and their check sum; numbers are little endian. Check sums are CRC-32C (polynomial 0x1EDC6F41), masked:
rotated right by 15 bits, plus 0xA282EAD8. Data are messages of protobuf: Event {1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary}, Summary {1: Value...},
Value {1: string tag, 2: float simple_value}."""
import os as _os
import socket as _socket
import struct as _struct
import time as _time

from ._callbacks import Callback
from ._history import flat


def _make_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _make_table()


def masked_crc(data):
    """The masked CRC-32C of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(number):
    data = b""
    while number > 0x7F:
        data += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return data + bytes((number,))


def _text(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def make_event(seconds, step, scores):
    """The message of an event: numbers by their tags, or the version of the file without any."""
    data = b"\x09" + _struct.pack("<d", seconds)
    if not scores:
        return data + _text(3, b"brain.Event:2")
    values = b"".join(_text(1, _text(1, tag.encode()) + b"\x15" + _struct.pack("<f", value)) for tag, value in scores.items())
    return data + b"\x10" + _varint(step) + _text(5, values)


class EventFile:
    """A new file of events in a folder, which is made. Numbers beyond f32 become infinite. Raises OSError for one that cannot be written."""

    _made = 0

    def __init__(self, folder):
        _os.makedirs(folder, exist_ok=True)
        EventFile._made += 1
        name = f"events.out.tfevents.{int(_time.time()):010}.{_socket.gethostname()}.{_os.getpid()}.{EventFile._made}"
        self._file = open(_os.path.join(folder, name), "xb")
        self.add(0, {})

    def add(self, step, scores):
        """Appends an event, which is in the file when this returns."""
        data = make_event(_time.time(), step, {tag: _in_f32(value) for tag, value in scores.items()})
        length = _struct.pack("<Q", len(data))
        self._file.write(length + _struct.pack("<I", masked_crc(length)) + data + _struct.pack("<I", masked_crc(data)))
        self._file.flush()

    def close(self):
        self._file.close()

    def __del__(self):
        if hasattr(self, "_file"):
            self._file.close()


def _in_f32(value):
    value = float(value)
    largest = _struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
    return value if value != value or abs(value) <= largest else float("inf") if value > 0 else -float("inf")


class TensorBoard(Callback):
    """Writes event files, which the program tensorboard shows, into the folders "train" and "validation" of `folder`, with Keras's tags: "epoch_loss", "epoch_accuracy",
    "epoch_learning_rate" by the number of the epoch, from 0. `every`: also "batch_loss" and so on after each `every`-th step, by the number of the step; 0: not.

    Each fit makes files of its own; an exception that ends it leaves all events so far. Needs no package. Raises OSError for a folder that cannot be written."""

    def __init__(self, folder, every: int = 0):
        if int(every) != every or every < 0:
            raise ValueError(f"TensorBoard: every: expected 0 steps or more, got {every}")
        self.folder, self.every, self._files = _os.fspath(folder), int(every), {}

    def on_begin(self):
        self._close() # of a fit that an exception has ended
        self._add("train", 0, {})

    def _add(self, part, step, scores):
        if part not in self._files:
            self._files[part] = EventFile(_os.path.join(self.folder, part))
        if scores:
            self._files[part].add(step, scores)

    def on_step(self, step):
        if self.every and step["step"] % self.every == 0:
            self._add("train", step["step"], {_tag("batch", name): value for name, value in step.items() if name not in ("epoch", "step", "step_in_epoch")})

    def on_epoch(self, epoch):
        number = epoch["epoch"] - 1
        scores = {name: value for name, value in flat(epoch).items() if name not in ("epoch", "step")}
        self._add("train", number, {_tag("epoch", name): value for name, value in scores.items() if not name.startswith("val_")})
        validation = {_tag("epoch", name.removeprefix("val_")): value for name, value in scores.items() if name.startswith("val_")}
        if validation:
            self._add("validation", number, validation)

    def on_end(self, history):
        self._close()

    def _close(self):
        for file in self._files.values():
            file.close()
        self._files = {}


def _tag(what, name):
    return f"{what}_{'learning_rate' if name == 'rate' else name}"
