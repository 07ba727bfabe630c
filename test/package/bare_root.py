"""A root folder that has the libraries of C and C++ and nothing else, and commands in it: a machine without what the project needs to be built.

    bare_root.py    exit code 0 where this machine can run commands in such a root; else 1, and the reason is printed

It needs the right to make a mount namespace: root, or a system that lets a user make one.
"""
import os
import re
import shutil
import subprocess
import sys

# What every program in C++ needs, with the loader.
BASE = ("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6")
LOADER = "/lib64/ld-linux-x86-64.so.2"
# What scripts take for granted. Their own libraries are in a folder where no other program looks.
UTILITIES = ("awk basename cat chmod cmp cp cut date diff dirname du env expr find grep head hostname id ln ls mkdir mktemp mv nproc paste readlink rm rmdir sed seq sh "
             "sleep sort stat tail tar tee timeout touch tr true uname uniq wc xargs xz").split()


def libraries_of(*files):
    """The paths of the shared libraries that files need."""
    done = subprocess.run(["ldd", *files], capture_output=True, text=True)
    missing = re.findall(r"(\S+) => not found", done.stdout)
    if missing:
        raise RuntimeError(f"{files} need {missing}, which this machine has not")
    return sorted(set(re.findall(r"=> (/\S+)", done.stdout)))


def known_libraries():
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return dict(re.findall(r"^\s+(\S+) \([^)]*x86-64[^)]*\) => (\S+)$", listed, re.M)[::-1])


class BareRoot:
    def __init__(self, folder):
        self.folder = folder
        for name in ("usr/bin", "usr/lib", "lib64", "tmp", "proc", "dev", "etc", "root", "lib/x86_64-linux-gnu"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        for link, target in (("bin", "usr/bin"),):
            os.symlink(target, os.path.join(folder, link))
        os.chmod(os.path.join(folder, "tmp"), 0o1777)
        shutil.copy(LOADER, folder + LOADER)
        known = known_libraries()
        for name in BASE:
            if name in known:
                self.add_library(known[name])

    def add_library(self, path):
        shutil.copy(path, os.path.join(self.folder, "lib/x86_64-linux-gnu", os.path.basename(path)))

    def add_utilities(self):
        """A shell and what its scripts call, whose libraries no other program of the root finds."""
        home = os.path.join(self.folder, "utilities")
        os.makedirs(os.path.join(home, "bin"))
        os.makedirs(os.path.join(home, "lib"))
        start = f"{LOADER} --library-path /utilities/lib"
        shell = shutil.which("bash")
        for name in ("bash", *UTILITIES):
            path = os.path.realpath(shutil.which(name))
            shutil.copy(path, os.path.join(home, "bin", name))
            for library in libraries_of(path):
                shutil.copy(library, os.path.join(home, "lib"))
        # The shell is a program of its own libraries, all of which the root has but one.
        shutil.copy(shell, os.path.join(self.folder, "usr/bin/bash"))
        for library in libraries_of(shell):
            if os.path.basename(library) not in BASE:
                self.add_library(library)
        for name in UTILITIES:
            path = os.path.join(self.folder, "usr/bin", name)
            with open(path, "w") as file:
                file.write(f'#!/bin/bash\nexec {start} --argv0 {name} /utilities/bin/{name} "$@"\n')
            os.chmod(path, 0o755)

    def command(self, *command, user=None, **environment):
        """Arguments and environment for subprocess."""
        script = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot ' + (f"--userspec={user}:{user} --groups= " if user is not None else "") + '"$0" "$@"'
        namespace = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        return [*namespace, "sh", "-c", script, self.folder, *command], {"PATH": "/usr/bin:/bin", "HOME": "/root", "TMPDIR": "/tmp"} | environment

    def run(self, *command, user=None, timeout=600, **environment):
        """The exit code and all that the command prints."""
        arguments, variables = self.command(*command, user=user, **environment)
        # What starts the command is the machine's own.
        done = subprocess.run(arguments, capture_output=True, text=True, errors="replace", timeout=timeout, env=variables | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        return done.returncode, done.stdout + done.stderr


def why_not():
    """Why this machine has no such root; empty where it has."""
    if not os.path.exists(LOADER):
        return f"no {LOADER}"
    namespace = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    try:
        done = subprocess.run([*namespace, "sh", "-c", "mount --rbind /proc /proc && chroot / true"], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else f"no root of its own for a process: {(done.stderr.strip() or 'unshare fails').splitlines()[-1]}"


if __name__ == "__main__":
    reason = why_not()
    print(reason or "it can")
    sys.exit(1 if reason else 0)
