"""damage.py HOW MODULE OUT: a copy of a module file with one thing wrong."""
import struct
import sys

how, source, target = sys.argv[1:]
data = bytearray(open(source, "rb").read())
if how == "truncated":
    data = data[:len(data) // 2]
elif how == "header":
    data = data[:40]
elif how == "empty":
    data = bytearray()
elif how == "magic":
    data[0] = ord("X")
elif how == "metadata":
    offset, = struct.unpack_from("<Q", data, 24)
    data[offset + 9] ^= 0x20
elif how == "weights":
    data[4096 + 5] ^= 0x40
elif how == "newer-major":
    struct.pack_into("<I", data, 8, struct.unpack_from("<I", data, 8)[0] + 1)
elif how == "newer-minor":
    struct.pack_into("<I", data, 12, struct.unpack_from("<I", data, 12)[0] + 1)
elif how.startswith("at:"):
    data[int(how[3:])] ^= 0x01
else:
    raise SystemExit(f"damage.py: unknown damage '{how}'")
open(target, "wb").write(data)
