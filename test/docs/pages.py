"""Reads the pages and the sources of a tree, of which a test may plant other texts, or take files out (None)."""
import functools
import glob
import os
import re

SOURCE_FOLDERS = ("base", "compiler", "dialects", "frontends", "python", "runtime", "tools")
SOURCE_ENDS = (".cpp", ".h", ".hpp", ".c", ".inc", ".py", ".in")


class Tree:
    def __init__(self, root, planted=None):
        self.root, self.planted = root, planted or {}

    def read(self, path):
        """The text of a file; FileNotFoundError where it is not there."""
        if not self.exists(path):
            raise FileNotFoundError(2, "there is no such file", path)
        return self.planted[path] if path in self.planted else read_file(os.path.join(self.root, path))

    def exists(self, path):
        return self.planted[path] is not None if path in self.planted else os.path.exists(os.path.join(self.root, path))

    def pages(self):
        found = sorted(os.path.relpath(path, self.root) for path in glob.glob(os.path.join(self.root, "docs", "*.md")))
        return [page for page in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", *found) if self.exists(page)]

    def sources(self, folders=SOURCE_FOLDERS, ends=SOURCE_ENDS):
        """(path, text) of each source file."""
        for path in list_sources(self.root, folders, ends):
            yield path, self.read(path)


@functools.cache
def read_file(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


@functools.cache
def list_sources(root, folders, ends):
    found = []
    for folder in folders:
        for parent, below, names in os.walk(os.path.join(root, folder)):
            below[:] = sorted(name for name in below if name != "__pycache__")
            found += [os.path.relpath(os.path.join(parent, name), root) for name in sorted(names) if name.endswith(ends) or "." not in name]
    return found


def without_code(text):
    """A page without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)


def anchors(text):
    """The anchors of a page's headings, as forges and mkdocs name them."""
    found, counts = set(), {}
    for heading in re.findall(r"^#+ (.*)$", without_code(text), flags=re.M):
        name = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", name).strip().replace(" ", "-")
        count = counts[name] = counts.get(name, -1) + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def sections(text, level):
    """{heading: text below it} of the headings of one level, in their order."""
    parts = re.split(rf"^{'#' * level} (.*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def rows(text):
    """The cells of each row of the tables in a text, without heads."""
    found, is_head = [], True
    for line in text.splitlines():
        if not line.startswith("|"):
            is_head = True
        elif re.fullmatch(r"[|\s:-]+", line):
            is_head = False
        elif not is_head:
            found.append([cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found
