#!/usr/bin/env python3
"""Builds the site by scripts/site and looks at it; then builds it in copies of the tree with a fault each, which must fail. A shard of `scripts/test --all`:
the packages of the site come from PyPI.

  check_site.py REPOSITORY
"""
import json
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


def build(tree):
    done = subprocess.run([os.path.join(tree, "scripts", "site")], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def check_site(source):
    code, text = build(source)
    expect("scripts/site builds the site", code == 0, text)
    site = os.path.join(source, "build", "site")
    pages = [name[:-3] for name in os.listdir(os.path.join(source, "docs")) if name.endswith(".md")]
    missing = [name for name in pages if not os.path.exists(os.path.join(site, "docs", name + ".html"))]
    expect(f"each of {len(pages)} pages of docs is there", not missing, missing)
    home = read(site, "index.html")
    expect("it has a light and a dark scheme", {"default", "slate"} <= set(re.findall(r'data-md-color-scheme="(\w+)"', home)), home[:300])
    pictures = re.findall(r'<img [^>]*src="([^"]+\.svg)"', home)
    expect("the pictures of the front page are those of docs/pictures", pictures and all(read(site, name) == read(source, name) for name in pictures), pictures)
    index = json.loads(read(site, "search", "search_index.json"))["docs"]
    found = [one["location"] for one in index if "checkpoint" in one["text"]]
    expect("the search finds a word", any(place.startswith("docs/training.html") for place in found), found[:5])
    expect("a list in a list is one", re.search(r"<ol>\s*<li>the definition;</li>", read(site, "CONTRIBUTING.html")), "CONTRIBUTING.html has no ordered list in 'An anchor'")
    others = [name for name in re.findall(r'(?:src|href)="(https?://[^"]+)"', home) if re.search(r"\.(js|css|woff2?)$", name)]
    expect("no script, style or font comes from another host", not others, others)
    expect("the server's example is a file of the site", read(site, "examples", "serving", "config.toml") == read(source, "examples", "serving", "config.toml"))


def check_faults(source):
    faults = [
        ("a link to a page that is not there", "docs/start.md", "\nSee [this](none.md).\n", "none.md"),
        ("a link to a heading that is not there", "docs/start.md", "\nSee [this](install.md#none).\n", "#none"),
        ("a page that is not in the navigation", "docs/new.md", "# New\n", "docs/new.md"),
        ("a picture that is not drawn from its text", "docs/pictures/overview.txt", "a box: more\n", "overview"),
    ]
    for what, path, text, named in faults:
        with tempfile.TemporaryDirectory() as tree:
            for folder in ("docs", "scripts", "examples/serving"):
                shutil.copytree(os.path.join(source, folder), os.path.join(tree, folder))
            for name in os.listdir(source):
                if name.endswith(".md"):
                    shutil.copy(os.path.join(source, name), tree)
            os.makedirs(os.path.join(tree, "build"))
            os.symlink(os.path.join(source, "build", "site-venv"), os.path.join(tree, "build", "site-venv"))
            with open(os.path.join(tree, path), "a") as file:
                file.write(text)
            code, said = build(tree)
            expect(f"fails for {what}, which it names", code != 0 and named in said, f"exit code {code}: {said}")


def main():
    source = os.path.abspath(sys.argv[1])
    check_site(source)
    check_faults(source)
    return checks.finish(", 0 skipped")


if __name__ == "__main__":
    sys.exit(main())
