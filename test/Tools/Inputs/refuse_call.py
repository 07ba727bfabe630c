"""refuse_call.py NAME ERROR COMMAND...: runs the command where the kernel refuses the system call NAME with ERROR, as hardened systems and
broken disks do. With KILL for an error the process ends there instead. Exits with 77 where the kernel has no filters of system calls."""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {  # each call with what newer libraries use for it
    "x86_64": {"rename": (82, 264, 316), "fsync": (74,), "mkdir": (83, 258), "link": (86, 265), "unlink": (87, 263)},
    "aarch64": {"rename": (38, 276), "fsync": (82,), "mkdir": (34,), "link": (37,), "unlink": (35,)},
}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ERRNO, ALLOW, KILL = 0x00050000, 0x7FFF0000, 0x80000000


def main():
    machine = platform.machine().replace("amd64", "x86_64").replace("arm64", "aarch64")
    numbers = NUMBERS[machine][sys.argv[1]]
    answer = KILL if sys.argv[2] == "KILL" else ERRNO | getattr(errno, sys.argv[2])
    code = [(LOAD, 0, 0, 0)]  # the number of the call
    for index, number in enumerate(numbers):
        code.append((JUMP_EQUAL, len(numbers) - index, 0, number))
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, answer)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    program = Program(len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None)
    # Without new privileges a process may filter its own calls, root or not.
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        sys.exit(77)
    os.execvp(sys.argv[3], sys.argv[3:])


main()
