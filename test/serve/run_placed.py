#!/usr/bin/env python3
"""vx-serve where it is put: on volumes as Kubernetes mounts them, by any user without a home, with a read-only root, and as the unit of systemd starts it.

  run_placed.py --bin BUILD/bin [--only NAME,...]

Exit code: 0 all passed, 1 some failed, 77 this machine cannot make mounts or cannot start programs as another user.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from api_keys import USER, write_keys
from digits import IMAGES, ROOT, infer
from run_embeddings import Bench
from served import Server

NOBODY, RANDOM, GROUP = 65534, 1000710000, 2000  # OpenShift's first users have such numbers
TOOLS = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def why_not(bench):
    """Why nothing of this can be tried here; empty: it can."""
    if os.geteuid() != 0:
        return "mounts and other users need root"
    for tool in ("unshare", "setpriv", "mount"):
        if not shutil.which(tool):
            return f"no {tool}"
    done = placed(bench, "mount -t tmpfs x /mnt && mount -o remount,ro,bind /", NOBODY, ["/bin/sh", "-c", f"test -x {shlex.quote(os.path.join(bench.bin, 'vx-serve'))}"])
    return "" if done.returncode == 0 else f"no mounts for a program of another user: {(done.stderr.strip() or 'it cannot read the build folder').splitlines()[-1]}"


def command_of(mounts, user, command, groups=(), environment=None):
    """`command` as a user with nothing but these groups and variables, after `mounts` were made where nobody else sees them."""
    own = [f"{name}={value}" for name, value in (environment or {}).items()]
    groups = f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"
    start = ["setpriv", f"--reuid={user}", f"--regid={user}", groups, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "env", "-i", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", *own, *command]
    return ["unshare", "--mount", "sh", "-ec", f'mount --make-rprivate /\n{mounts}\nexec "$@"', "sh", *start]


def placed(bench, mounts, user, command, **options):
    return subprocess.run(command_of(mounts, user, command, **options), capture_output=True, text=True, timeout=60, env=TOOLS, cwd=bench.folder)


def volume(path, mode, source, name, sealed=False, links=True, file_mode=0o644, group=0):
    """Lines that mount a volume of Kubernetes with one file in it: a ConfigMap or a Secret has it by two links."""
    path, source = shlex.quote(path), shlex.quote(source)
    lines = [f"mount -t tmpfs -o mode={mode:o},gid={group} volume {path}"]
    if links:
        lines += [f"mkdir {path}/..2026_11_29", f"cp {source} {path}/..2026_11_29/{name}", f"ln -s ..2026_11_29 {path}/..data", f"ln -s ..data/{name} {path}/{name}"]
    else:
        lines += [f"cp {source} {path}/{name}"]
    lines += [f"chown -h 0:{group} {path}/{name}", f"chgrp {group} $(readlink -f {path}/{name})", f"chmod {file_mode:o} {path}/{name}"]
    return "\n".join(lines + ([f"mount -o remount,ro,bind {path}"] if sealed else [])) + "\n"


READ_ONLY_ROOT = "mount -o remount,ro,bind /\n"


def place(bench, name):
    os.makedirs(bench.path(name), exist_ok=True)
    return bench.path(name)


def serve(bench, name, mounts, user, *arguments, groups=(), environment=None, command=None):
    command = command or [os.path.join(bench.bin, "vx-serve"), "--port=0", *arguments]
    environment = {"VX_SERVER__DRAIN_DELAY_S": "0", "VX_DEFAULT_BACKEND": "cpu"} | (environment or {})
    return Server(bench, name=name, command=command_of(mounts, user, command, groups, environment), inherited=TOOLS)


def warnings_of(server):
    return [line for line in server.logged().splitlines() if "warning" in line]


def check_kubernetes(bench):
    """An emptyDir of 0777 and a Secret of 0644, as both come by default, by a user that has no name and no home."""
    mounts = volume(place(bench, "empty"), 0o777, bench.path("digits.vxm"), "digits.vxm", links=False) + volume(place(bench, "secret"), 0o1777, bench.path("keys"), "keys", sealed=True)
    arguments = [f"--model=numbers={bench.path('empty')}", f"--api-keys-file={bench.path('secret')}/keys", "--host=0.0.0.0"]
    with serve(bench, "kubernetes", mounts + READ_ONLY_ROOT, RANDOM, *arguments) as server:
        server.wait_until_ready()
        bench.check("an emptyDir is served under the name of --model", infer(server, IMAGES[:2], "/v2/models/numbers/infer", {"x-api-key": USER}).shape == (2, 10))
        bench.check("a Secret's keys are asked for", server.ask("GET", "/v2")[0] == 401)
        found = warnings_of(server)
        bench.check("both are warnings", len(found) == 2 and "others may read it (mode 0644)" in found[0] and f"--model: '{bench.path('empty')}': others may write it (mode 0777); it is used, since it is a volume" in found[1], found)
        bench.check("it ends", server.stop() == 0)


def check_groups(bench):
    """A ConfigMap of modules as the model folder, a volume with an fsGroup, and a Secret of 0440 for that group: nothing to warn of."""
    mounts = volume(place(bench, "models"), 0o2775, bench.path("digits.vxm"), "digits.vxm", sealed=True, group=GROUP) + volume(place(bench, "secret2"), 0o2775, bench.path("keys"), "keys", sealed=True, file_mode=0o440, group=GROUP)
    variables = {"VX_MODEL_DIR": bench.path("models"), "VX_SERVER__API_KEYS_FILE": bench.path("secret2") + "/keys"}
    with serve(bench, "groups", mounts + READ_ONLY_ROOT, RANDOM, groups=(GROUP,), environment=variables) as server:
        server.wait_until_ready()
        bench.check("a ConfigMap's links are followed", infer(server, IMAGES[:2], headers={"x-api-key": USER}).shape == (2, 10))
        bench.check("nothing to warn of", warnings_of(server) == [], server.logged())
    done = placed(bench, mounts, RANDOM, [os.path.join(bench.bin, "vx-serve"), "--check-config"], environment=variables)
    bench.check("without the group the keys cannot be read", done.returncode == 3 and "cannot be opened: Permission denied" in done.stderr, done.stderr)


def check_sealed(bench):
    """A read-only volume that everybody may write elsewhere, named by the variable."""
    mounts = volume(place(bench, "sealed"), 0o777, bench.path("digits.vxm"), "digits.vxm", sealed=True, links=False, file_mode=0o666)
    with serve(bench, "sealed", mounts + READ_ONLY_ROOT, NOBODY, environment={"VX_SERVER__MODEL": f"one={bench.path('sealed')},two={bench.path('sealed')}/digits.vxm", "HOME": "/"}) as server:
        server.wait_until_ready()
        for name in ("one", "two"):
            bench.check(f"the variable's model '{name}'", infer(server, IMAGES[:2], f"/v2/models/{name}/infer").shape == (2, 10))
        found = warnings_of(server)
        bench.check("it is a warning", len(found) == 2 and all("it is used, since its volume is mounted read-only" in line for line in found), found)


def check_hosts(bench):
    """What everybody may write is refused where it is no volume, also where a service sees it as read-only; and so are keys."""
    folder = place(bench, "open")
    shutil.copy(bench.path("digits.vxm"), folder)
    os.chmod(folder, 0o777)
    shutil.copy(bench.path("keys"), bench.path("open-keys"))
    os.chmod(bench.path("open-keys"), 0o644)
    for what, mounts in (("", ""), (", with a read-only root", READ_ONLY_ROOT)):
        for arguments, text in (
            ([f"--model-dir={folder}"], f"vx-serve: error: --model-dir: '{folder}': others may write it (mode 0777): chmod o-w it, or mount its volume read-only"),
            ([f"--model=digits={folder}"], f"vx-serve: error: --model: '{folder}': 'open': others may write it (mode 0777)"),
            ([f"--model=digits={bench.path('digits.vxm')}", f"--api-keys-file={bench.path('open-keys')}"], "open-keys: error: expected mode 0600, got 0644: others may read it; chmod 600 it"),
        ):
            done = placed(bench, mounts, NOBODY, [os.path.join(bench.bin, "vx-serve"), "--port=0", *arguments])
            bench.check(f"refused{what}: {arguments[-1]}", done.returncode == 3 and text in done.stderr, (done.returncode, done.stderr))
    # The volume's root is its owner's to open; a folder or a file in it is not.
    mounts = volume(place(bench, "deep"), 0o777, bench.path("digits.vxm"), "digits.vxm", links=False, file_mode=0o666)
    done = placed(bench, mounts, NOBODY, [os.path.join(bench.bin, "vx-serve"), "--port=0", f"--model=digits={bench.path('deep')}"])
    bench.check("a file that everybody may write, on a volume that can be written", done.returncode == 3 and "'digits.vxm': others may write it (mode 0666)" in done.stderr, done.stderr)


def check_no_cache(bench):
    """No home, no cache, nowhere to write: a module is served, and a model that must be compiled is refused by itself."""
    onnx = bench.path("net.onnx")
    shutil.copy(ROOT / "examples/digits/digits.onnx", onnx)
    os.chmod(onnx, 0o644)
    with serve(bench, "no-cache", READ_ONLY_ROOT + "mount --rbind /tmp /tmp\nmount -o remount,ro,bind /tmp\n", NOBODY, f"--model=digits={bench.path('digits.vxm')}", f"--model=net={onnx}") as server:
        server.wait_for(lambda: any(line.startswith("failed ") for line in server.lines))
        bench.check("the module is served", infer(server, IMAGES[:2]).shape == (2, 10))
        failed = next(line for line in server.lines if line.startswith("failed "))
        bench.check("the other says what is missing", "there is no cache_dir: expected VX_CACHE, XDG_CACHE_HOME or HOME, nor " in failed, failed)


def check_unit(bench):
    """ExecStart of the unit with its own environment: a user without privileges, a credential as systemd gives it, and a root that is read-only but for its own folders."""
    root = place(bench, "unit")
    text = (ROOT / "tools/vx-serve/vx-serve.service.in").read_text().replace("@VX_BINARIES@", bench.bin).replace("@VX_CONFIGURATION@", root + "/etc/vx")
    for folder in ("etc/vx", "var/cache/vx", "var/lib/vx/models", "credentials"):
        os.makedirs(f"{root}/{folder}")
    text = text.replace("/var/", f"{root}/var/")
    entries = dict(re.findall(r"^(\w+)=(.*)$", text, re.M))
    bench.check("a credential that need not be there", entries["LoadCredential"] == "keys:vx-serve.keys", entries.get("LoadCredential"))
    shutil.copy(ROOT / "examples/digits/digits.onnx", f"{root}/var/lib/vx/models/digits.onnx")
    os.chmod(f"{root}/var/lib/vx/models/digits.onnx", 0o644)
    # The file of the package, and any port.
    with open(f"{root}/etc/vx/config.toml", "w", encoding="utf-8") as file:
        file.write((ROOT / "tools/vx-serve/config.toml").read_text().replace("port = 8080", "port = 0"))
    mounts = "".join(f"mount --bind {root}/{folder} {root}/{folder}\nchown -R {NOBODY} {root}/{folder}\n" for folder in ("var/cache/vx", "var/lib/vx"))
    # Root's, readable by an ACL of the user, which shows as the group's bits.
    credentials = volume(f"{root}/credentials", 0o550, bench.path("keys"), "keys", links=False, file_mode=0o440) + f"chown {NOBODY} {root}/credentials {root}/credentials/keys\nmount -o remount,ro,bind {root}/credentials\n"
    environment = dict(pair.split("=", 1) for pair in shlex.split(entries["Environment"]))
    command = shlex.split(entries["ExecStart"])
    with serve(bench, "unit", mounts + credentials + READ_ONLY_ROOT, NOBODY, environment=environment | {"CREDENTIALS_DIRECTORY": f"{root}/credentials"}, command=command) as server:
        server.wait_until_ready()
        bench.check("the unit's models are compiled into its cache", os.listdir(f"{root}/var/cache/vx/models") != [])
        bench.check("the credential has the keys", server.ask("GET", "/v2")[0] == 401 and infer(server, IMAGES[:2], headers={"x-api-key": USER}).shape == (2, 10))
        bench.check("nothing to warn of", warnings_of(server) == [], server.logged())
    with serve(bench, "unit-open", mounts + READ_ONLY_ROOT, NOBODY, environment=environment, command=command) as server:
        server.wait_until_ready()
        bench.check("without a credential there are no keys", server.ask("GET", "/v2")[0] == 200)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", help="checks by their names, with commas between")
    arguments = parser.parse_args()
    checks = {"kubernetes": check_kubernetes, "groups": check_groups, "sealed": check_sealed, "hosts": check_hosts, "no_cache": check_no_cache, "unit": check_unit}
    chosen = arguments.only.split(",") if arguments.only else list(checks)
    for name in chosen:
        if name not in checks:
            sys.exit(f"FAILED no check matches '{name}', known are {', '.join(checks)}")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = Bench(os.path.abspath(arguments.bin), folder, ["cpu"])
        if reason := why_not(bench):
            print(reason)
            return 77
        bench.tool("vx-compile", str(ROOT / "examples/digits/digits.onnx"), "--target=cpu", "-o", bench.path("digits.vxm"))
        os.chmod(bench.path("digits.vxm"), 0o644)
        write_keys(bench.path("keys"), (USER, "app", "user"))
        for name in chosen:
            checks[name](bench)
        print(f"{bench.passed} passed, {bench.failed} failed")
        return bench.failed > 0


if __name__ == "__main__":
    sys.exit(main())
