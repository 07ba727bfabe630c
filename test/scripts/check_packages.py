#!/usr/bin/env python3
"""What a fresh machine has to get before it can build vx: scripts/setup, scripts/quickstart and the Python packages of the tests, held against packages.txt.

    check_packages.py REPOSITORY LIST [BUILD]

A package that is not in the list, or not with the reason why it is needed, fails; so does one of the list that nothing asks for. Where the packages are installed
(dpkg) all that they pull in is held against the budgets of the list, and so is the number of steps of quickstart's build, whose minutes follow from it.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checks import Checks  # noqa: E402

checks = Checks()
expect = checks.check


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def packages_of_setup(text):
    """Those of the default run, and those that --all adds."""
    arrays = re.findall(r"^packages_(\w+)=\(\n(.*?)^\)", text, re.M | re.S)
    if [name for name, _ in arrays] != ["runtime", "compiler", "all"]:
        sys.exit(f"scripts/setup: expected the lists packages_runtime, packages_compiler and packages_all, got {[name for name, _ in arrays]}")
    return [word for name, words in arrays if name != "all" for word in words.split()], arrays[-1][1].split()


def packages_of_requirements(text, keeps_extras=False):
    return [re.split(r"[=<> ;]" if "[" in line and keeps_extras else r"[=<>\[ ;]", line)[0] for line in text.splitlines() if line and not line.startswith(("#", " ", "-"))]


def read_list(text):
    """{kind: {name: reason}} and {budget: number}"""
    kinds, budgets = {"apt": {}, "apt-all": {}, "pip": {}, "pip-all": {}, "site": {}, "target": {}}, {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if words[0] == "budget" and len(words) == 3 and re.fullmatch(r"\d+", words[2].split()[0]):
            budgets[words[1]] = int(words[2].split()[0])
        elif words[0] in kinds and len(words) == 3 and len(words[2]) > 10:
            kinds[words[0]][words[1]] = words[2]
        else:
            sys.exit(f"packages.txt:{number}: expected 'apt NAME REASON', 'apt-all NAME REASON', 'pip NAME REASON', 'pip-all NAME REASON', 'site NAME REASON', 'target NAME REASON' or 'budget NAME NUMBER', got '{line}'")
    return kinds, budgets


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def pulled_in(names):
    """The packages that these depend on, with themselves, without what every Debian has; nothing where one is not installed."""
    known = {}
    for line in output("dpkg-query", "-W", "-f", "${Package}\\t${Installed-Size}\\t${Priority}\\t${Essential}\\t${Pre-Depends}, ${Depends}\\t${Provides}\\t${Status}\\n").splitlines():
        name, size, priority, essential, depends, provides, status = line.split("\t")
        if not status.endswith(" installed"):
            continue
        entry = (name, int(size or 0), priority == "required" or essential == "yes", depends)
        known[name] = entry
        for provided in re.findall(r"([a-z0-9][a-z0-9+.-]+)", re.sub(r"\([^)]*\)", "", provides)):
            known.setdefault(provided, entry)
    missing = [name for name in names if name not in known]
    if missing:
        return None, missing
    found, waiting = {}, list(names)
    while waiting:
        name, size, is_base, depends = known[waiting.pop()]
        if name in found or is_base:
            continue
        found[name] = size
        for entry in filter(None, re.split(r", *", depends)):
            options = [re.sub(r"[ :(].*", "", option.strip()) for option in entry.split("|")]
            waiting += [option for option in options if option in known][:1]
    return found, []


def compare(what, asked, listed, place):
    new, gone = sorted(set(asked) - set(listed)), sorted(set(listed) - set(asked))
    expect(f"{what}: {len(asked)} are those of the list", not new and not gone and len(asked) == len(set(asked)),
           "; ".join(filter(None, (new and f"{place} has {', '.join(new)}, which packages.txt does not give a reason for", gone and f"packages.txt has {', '.join(gone)}, which {place} does not have",
                                   len(asked) != len(set(asked)) and f"{place} has one twice"))))


def check_setup(root):
    """scripts/setup --all gets the Python packages of all tests too, also where the system's packages are there. Its commands are stand-ins."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("setup", "usage.sh"):
            shutil.copy(os.path.join(root, "scripts", name), folder)
        for name, text in (("test", f'echo "$*" >>{folder}/asked'), ("dpkg-query", "echo install ok installed")):
            with open(os.path.join(folder, name), "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(folder, name), 0o755)
        for option, asked in (([], ""), (["--runtime"], ""), (["--all"], "--references all\n")):
            done = subprocess.run([os.path.join(folder, "setup"), *option], capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            got = read(folder, "asked") if os.path.exists(os.path.join(folder, "asked")) else ""
            expect(f"scripts/setup {' '.join(option)} asks scripts/test for {asked.strip() or 'nothing'}", done.returncode == 0 and got == asked, f"{done.returncode} {got} {done.stdout}{done.stderr}")


def main():
    root, path = sys.argv[1:3]
    check_setup(root)
    listed, budgets = read_list(read(path))
    asked, more = packages_of_setup(read(root, "scripts", "setup"))
    compare("packages of scripts/setup", asked, listed["apt"], "scripts/setup")
    compare("packages that scripts/setup --all adds", more, listed["apt-all"], "scripts/setup")
    compare("Python packages of scripts/test --all", packages_of_requirements(read(root, "test", "requirements-all.txt"), keeps_extras=True), listed["pip-all"], "requirements-all.txt")
    compare("Python packages of the tests", packages_of_requirements(read(root, "test", "requirements.txt") + read(root, "python", "requirements.txt")), listed["pip"], "requirements.txt")
    compare("Python packages of the site", packages_of_requirements(read(root, "docs", "site", "requirements.in")), listed["site"], "docs/site/requirements.in")
    quickstart = re.search(r"^scripts/build release (.*)$", read(root, "scripts", "quickstart"), re.M)
    targets = quickstart[1].split() if quickstart else []
    compare("targets of scripts/quickstart", targets, listed["target"], "scripts/quickstart")

    found, missing = pulled_in(asked)
    if found is None:
        print(f"note: sizes are not looked at, since dpkg has no {', '.join(missing)} here")
    else:
        installed = sum(found.values()) / 1024
        expect(f"{len(found)} packages take {installed:.0f} MB, budget {budgets['installed-mb']}", installed <= budgets["installed-mb"], "give a reason in packages.txt and raise the budget")
        # Of this distribution's archive, where its lists are there.
        sizes = dict(re.findall(r"^Package: (\S+)\n(?:.*\n)*?Size: (\d+)$", output("apt-cache", "show", "--no-all-versions", *found), re.M))
        if len(sizes) == len(found):
            download = sum(map(int, sizes.values())) / 1e6
            expect(f"they are {download:.0f} MB of download, budget {budgets['download-mb']}", download <= budgets["download-mb"], "give a reason in packages.txt and raise the budget")
        else:
            print(f"note: downloads are not looked at, since apt knows the size of {len(sizes)} of {len(found)} packages here")
    if len(sys.argv) > 3:
        steps = len(output("ninja", "-C", sys.argv[3], "-t", "commands", *targets).splitlines())
        minutes = steps * budgets["seconds-a-step"] / 60 / 2
        expect(f"quickstart builds in {steps} steps, about {minutes:.0f} min on two cores, budget {budgets['quickstart-min']}", 0 < minutes <= budgets["quickstart-min"], f"{steps} steps")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
