"""Devices as values, the default device of a process, and tensors on devices."""
import enum as _enum
import json as _json
import os as _os
import threading as _threading

from . import _runtime
from ._runtime import Tensor
from ._values import _NUMBERS, to_array, to_tensor


class DeviceKind(str, _enum.Enum):
    """The kinds of devices, with the names of their backends. AUTO is the best device that there is, by VX_DEVICE_ORDER."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    VULKAN = "vulkan"
    NULL = "null"

    __str__ = str.__str__


_KINDS = ", ".join(kind.value for kind in DeviceKind)
_state = _threading.Lock()
_default = None


class Device:
    """A device by its kind and number: vx.Device("cuda:1"), vx.Device("cuda") for the first one, vx.Device("auto") for the best, vx.Device() for the default one. It is an immutable
    value: equal ones are equal and have one hash, copies are equal. It may be a device that is not there; see `is_available`.

    Raises ValueError for an unknown kind or number."""

    __slots__ = ("_kind", "_index")

    def __init__(self, name=None):
        if name is None:
            name = default_device()
        if isinstance(name, Device):
            kind, index = name._kind, name._index
        else:
            if not isinstance(name, str):
                raise TypeError(f"Device: expected a name such as 'cuda:0', got {type(name).__name__}")
            text, colon, number = str.__str__(name).partition(":")
            try:
                kind = DeviceKind(text)
            except ValueError:
                raise ValueError(f"Device: expected one of {_KINDS}, with a number after a colon or none, got '{name}'") from None
            if colon and not (number.isascii() and number.isdecimal() and int(number) < 2**32) or colon and kind is DeviceKind.AUTO:
                raise ValueError(f"Device: '{name}': expected a number after the colon{', and none for auto' if kind is DeviceKind.AUTO else ''}, got '{number}'")
            index = int(number) if colon else 0
        object.__setattr__(self, "_kind", kind)
        object.__setattr__(self, "_index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"Device: expected no change of '{name}': a device is a value, make another one")

    @property
    def kind(self) -> DeviceKind:
        """The kind, which is equal to its name: device.kind == "cuda"."""
        return self._kind

    @property
    def index(self) -> int:
        """The number among the devices of the kind, from 0 on."""
        return self._index

    @property
    def is_gpu(self) -> bool:
        """Whether it is a GPU: of cuda, rocm or vulkan, and no software device. Of "auto" whether the best device is one. False for a device that is not there."""
        facts = self._facts()
        return facts is not None and facts["device"].partition(":")[0] in ("cuda", "rocm", "vulkan") and not facts["software"]

    @property
    def is_available(self) -> bool:
        """Whether the device is there."""
        return self._facts() is not None

    @property
    def name(self) -> str:
        """The description that the driver gives, as "NVIDIA H200". Raises vx.Error, code "no_device", with the reason for a device that is not there."""
        return self._known()["name"]

    @property
    def total_memory(self) -> int:
        """The bytes of its memory; 0 if the driver does not say. Raises as `name` does."""
        return self._known()["total_memory"]

    @property
    def free_memory(self) -> int:
        """The bytes of its memory that are free now, for all processes. Opens the device to ask it. Raises vx.Error as `name` does, and with the code "unsupported" for a device that does
        not tell, as vx.Device("null")."""
        return _runtime.free_memory(str(self))

    def _facts(self):
        """Its entry in the list of devices, or None."""
        found = [one for backend in _backends() for one in backend.get("devices", ())]
        if self._kind is DeviceKind.AUTO:
            order = [name.strip() for name in (_os.environ.get("VX_DEVICE_ORDER") or "cuda,rocm,vulkan,cpu").split(",")]
            for is_software in (False, True):
                for name in order:
                    for one in found:
                        if one["device"].partition(":")[0] == name and one["software"] == is_software:
                            return one
            return None
        return next((one for one in found if one["device"] == str(self)), None)

    def _known(self):
        facts = self._facts()
        if facts is None:
            backend = next((one for one in _backends() if one["name"] == self._kind.value), {})
            reason = backend.get("reason") or f"there are {len(backend.get('devices', ()))} of {self._kind.value}"
            error = _runtime.Error(f"device '{self}' is not there: {reason}")
            error.code = "no_device"
            raise error
        return facts

    def __str__(self):
        return "auto" if self._kind is DeviceKind.AUTO else f"{self._kind.value}:{self._index}"

    def __repr__(self):
        return f"vx.Device('{self}')"

    def __eq__(self, other):
        return (self._kind, self._index) == (other._kind, other._index) if isinstance(other, Device) else NotImplemented

    def __hash__(self):
        return hash((self._kind, self._index))

    def __reduce__(self):
        return Device, (str(self),)


def _backends():
    return _json.loads(_runtime.list_devices())["backends"]


def devices(kind=None) -> list:
    """[vx.Device, ...] of all that there are, or of one kind, without "null" unless it is asked for. Raises ValueError for an unknown kind."""
    kind = None if kind is None else _kind(kind)
    return [Device(one["device"]) for backend in _backends() if (backend["name"] == kind if kind else backend["name"] != "null") for one in backend.get("devices", ())]


def _kind(kind):
    try:
        return DeviceKind(kind)
    except ValueError:
        raise ValueError(f"kind: expected one of {_KINDS}, got {kind!r}") from None


def available(kind) -> bool:
    """Whether there is a device of a kind: vx.available("cuda"), or vx.available(vx.DeviceKind.CUDA); or a device itself, vx.available("cuda:1"). Raises ValueError for an unknown one."""
    if isinstance(kind, Device) or isinstance(kind, str) and ":" in kind:
        return Device(kind).is_available
    return bool(devices(kind)) if _kind(kind) is not DeviceKind.AUTO else Device("auto").is_available


def default_device() -> Device:
    """The device of models, instances and tensors that are given none: that of `set_default_device`, else that of the environment variable VX_DEVICE, else "auto". Raises ValueError for a
    VX_DEVICE that is no device."""
    with _state:
        if _default is not None:
            return _default
    given = _os.environ.get("VX_DEVICE")
    try:
        return Device(given or "auto")
    except ValueError as error:
        raise ValueError(f"VX_DEVICE: {error}") from None


def set_default_device(device) -> None:
    """Sets the default device of this process, for all threads. None: that of VX_DEVICE again. Models and tensors that exist stay where they are. Raises ValueError for an unknown
    device, and vx.Error, code "no_device", for one that is not there."""
    global _default
    device = None if device is None else Device(device)
    if device is not None:
        device._known()
    with _state:
        _default = device


def place(device) -> str:
    """The text of the device that an argument names. Texts stay as they are: "cuda" is any GPU of cuda, where the first one cannot be used."""
    if device is not None:
        if not isinstance(device, (str, Device)):
            raise TypeError(f"device: expected a vx.Device or its name, got {type(device).__name__}")
        if isinstance(device, str) and device:
            Device(device) # ValueError for an unknown kind or number
        return str(device)
    default = default_device()
    with _state:
        return str(_default) if _default is not None else _os.environ.get("VX_DEVICE") or str(default)


def _on_device(tensor, device):
    target = Device(device)
    if device is None and target.kind is DeviceKind.AUTO: # tensors begin in the host's memory, as PyTorch's do
        return tensor
    return tensor.to(target)


def tensor(value, dtype=None, device=None) -> Tensor:
    """A vx.Tensor with a copy of an array, a list or a number, as the element type `dtype` ("f32") if it is given. `device`: where; None: the default device, or the host's memory if that
    is "auto". Raises ValueError with the first value that the type does not hold."""
    import numpy
    from ._values import to_input
    made = to_tensor(value) if dtype is None and type(value) not in (list, tuple, int, float, bool) else to_input(value, {"name": "tensor", "dtype": dtype or _usual(value)})
    array = to_array(made)
    if isinstance(array, numpy.ndarray) and array.dtype.kind != "O":
        made = Tensor.from_bytes(made.dtype, list(made.shape), array.tobytes())
    return _on_device(made, device)


def _usual(value):
    """PyTorch's types of numbers."""
    import numpy
    kind = numpy.asarray(value).dtype.kind
    return {"b": "bool", "i": "i64", "u": "i64"}.get(kind, "f32")


def _filled(what, shape, dtype, device, element):
    shape = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape):
        raise ValueError(f"{what}: expected sizes of 0 or more, got {tuple(shape)}")
    count = 1
    for size in shape:
        count *= size
    bits = {"bf16": 16, "i4": 4, "u4": 4, "f4E2M1": 4, "i2": 2, "u2": 2}.get(dtype, 8)
    if dtype in _NUMBERS:
        import numpy
        data = numpy.full(count, element, _NUMBERS[dtype]).tobytes()
    elif element == 0 and dtype != "string":
        data = bytes((count * bits + 7) // 8)
    elif dtype == "bf16":
        data = b"\x80\x3f" * count
    else:
        raise ValueError(f"{what}: expected a type of {', '.join(_NUMBERS)} or bf16, got {dtype!r}")
    return _on_device(Tensor.from_bytes(dtype, shape, data), device)


def zeros(shape, dtype: str = "f32", device=None) -> Tensor:
    """A vx.Tensor of zeros, of any element type. `device`: as vx.tensor has it. Raises ValueError for sizes below 0 and unknown types, vx.Error for a device that is not there or has no
    more memory."""
    return _filled("zeros", shape, dtype, device, 0)


def ones(shape, dtype: str = "f32", device=None) -> Tensor:
    """A vx.Tensor of ones. Raises as vx.zeros does, and ValueError for types of less than 16 bits that NumPy has not."""
    return _filled("ones", shape, dtype, device, 1)


def empty(shape, dtype: str = "f32", device=None) -> Tensor:
    """A vx.Tensor whose elements are not meant to be read; at present they are zeros. Raises as vx.zeros does."""
    return _filled("empty", shape, dtype, device, 0)


def as_numpy(tensor):
    """What Tensor.numpy returns."""
    array = to_array(tensor)
    if isinstance(array, Tensor):
        raise TypeError(f"numpy: expected a type that NumPy has, got {tensor.dtype}")
    return array
