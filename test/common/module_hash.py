"""The hash of module files, and files that are changed and have the right one."""
import struct


def hash64(data):
    """vx_hash64 of module_header.h."""
    mask, value = (1 << 64) - 1, 0xcbf29ce484222325 ^ len(data)
    for begin in range(0, len(data), 8):
        value = (value ^ int.from_bytes(data[begin : begin + 8], "little")) * 0x100000001b3 & mask
        value ^= value >> 32
    value = value * 0x9e3779b97f4a7c15 & mask
    return value ^ value >> 29


def replaced(module, old, new):
    """The bytes of a module with other bytes in its metadata, of the same length."""
    assert len(old) == len(new) and old in module
    offset, size = struct.unpack_from("<QQ", module, 24)
    metadata = module[offset : offset + size].replace(old, new)
    return module[:40] + struct.pack("<Q", hash64(metadata)) + module[48:offset] + metadata + module[offset + size:]
