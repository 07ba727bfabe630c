"""Checks of check_pages.py: the site's navigation, and the files that a forge or an editor reads."""
import json
import os
import re

from pages import sections

TEMPLATES = (".github/ISSUE_TEMPLATE/fault.md", ".github/ISSUE_TEMPLATE/request.md")
TITLES = ("Report a vulnerability", "Versions", "Trusted and untrusted input")


def check_site(tree):
    """The navigation of the site has each page once; scripts/site copies the pages beside README.md."""
    path = "docs/site/mkdocs.yml"
    listed = re.findall(r"^ +- .*?: (\S+\.md)$", tree.read(path), re.M)
    for page in tree.pages():
        if listed.count(page) != 1:
            yield f"{path}: expected '{page}' once in the navigation, got it {listed.count(page)} times"
    for page in listed:
        if not tree.exists(page):
            yield f"{path}: there is no page '{page}'"
    copied = re.findall(r'"([\w.]+\.md)"', re.search(r"^PAGES = \[(.*)\]$", tree.read("scripts/site"), re.M)[1])
    expected = [page for page in tree.pages() if "/" not in page]
    if copied != expected:
        yield f"scripts/site: expected the pages {', '.join(expected)}, got {', '.join(copied)}"
    if not re.search(r"^mkdocs-material==\S+ \\\n +--hash=sha256:[0-9a-f]{64}", tree.read("docs/site/requirements.txt"), re.M):
        yield "docs/site/requirements.txt: expected mkdocs-material with a version and hashes"


def check_forge(tree):
    """The workflow runs the scripts of the tree; templates, the policy and the container are complete."""
    path = ".github/workflows/ci.yml"
    runs = re.findall(r"^ +run: (scripts/\S+.*)$", tree.read(path), re.M)
    for script in ("scripts/setup", "scripts/test", "scripts/site"):
        if script not in runs:
            yield f"{path}: expected a step with 'run: {script}', got {', '.join(runs)}"
    for script in runs:
        if not tree.exists(script.split()[0]):
            yield f"{path}: there is no '{script.split()[0]}'"
    for path in TEMPLATES:
        head = re.match(r"---\nname: .+\nabout: .+\ntitle: .*\nlabels: .+\n---\n", tree.read(path))
        if not head:
            yield f"{path}: expected a head with name, about, title and labels"
        if "vx-run --version" not in tree.read(path):
            yield f"{path}: expected that it asks for the output of 'vx-run --version'"
    path = ".github/pull_request_template.md"
    for script in re.findall(r"`(scripts/[\w-]+)", tree.read(path)):
        if not tree.exists(script):
            yield f"{path}: there is no '{script}'"
    if "`scripts/test --fast`" not in tree.read(path):
        yield f"{path}: expected a box for 'scripts/test --fast'"
    for title in TITLES:
        if not sections(tree.read("SECURITY.md"), 2).get(title, "").strip():
            yield f"SECURITY.md: expected a section '{title}'"
    path = ".devcontainer/devcontainer.json"
    container = json.loads(tree.read(path))["build"]
    docker = os.path.join(".devcontainer", container["dockerfile"])
    for source in " ".join(re.findall(r"^COPY (.+) \S+$", tree.read(docker), re.M)).split():
        if not tree.exists(os.path.normpath(os.path.join(".devcontainer", container["context"], source))):
            yield f"{docker}: there is no '{source}' to copy"
    if not re.search(r"^RUN .*scripts/setup\b", tree.read(docker), re.M):
        yield f"{docker}: expected that it runs scripts/setup"
