#!/usr/bin/env python3
"""Compares pages with the sources that they speak of: check_pages.py --source . [NAME...]

Each check is a function below, by its name. It gives one line for each thing that is wrong. Exit code: 0 none, 1 some.
"""
import argparse
import os
import re
import sys
import urllib.parse

from pages import Tree, anchors, rows, sections, without_code


def check_links(tree):
    """Each relative link of a page leads to a file, and to a heading where it names one."""
    known = {}
    for page in tree.pages():
        text = re.sub(r"`[^`\n]*`", "", without_code(tree.read(page)))
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not tree.exists(path):
                yield f"{page}: '{link}': there is no file '{path}'"
            elif anchor and path.endswith(".md"):
                if path not in known:
                    known[path] = anchors(tree.read(path))
                if anchor not in known[path]:
                    yield f"{page}: '{link}': {path} has no heading '#{anchor}'"


def handles(tree):
    """Objects of the C interface: what it calls vx_module is a module."""
    return re.findall(r"^typedef struct vx_(\w+) vx_\1;$", tree.read("runtime/include/vx/runtime/vx.h"), flags=re.M)


def check_glossary(tree):
    """Terms are in order, one or two sentences with a link, and used; objects, phases and roles are terms."""
    page = "docs/glossary.md"
    entries = sections(tree.read(page), 3)
    terms = list(entries)
    for before, after in zip(terms, terms[1:]):
        if before.lower() >= after.lower():
            yield f"{page}: expected '{after}' before '{before}'"
    others = " ".join(re.sub(r"\s+", " ", tree.read(other)) for other in tree.pages() if other != page)
    for term, text in entries.items():
        body, _, link = text.strip().rpartition("See ")
        count = len(re.findall(r"[.!?](?=\s|$)", re.sub(r"`[^`]*`", "", body)))
        if not 1 <= count <= 2:
            yield f"{page}: '{term}': expected one or two sentences, got {count}"
        if "](" not in link:
            yield f"{page}: '{term}': expected a link to the page that explains it"
        if not re.search(rf"(?<![\w-]){re.escape(term)}(?:e?s)?(?![\w-])", others, re.I):
            yield f"{page}: '{term}': no other page uses it"
    asked = [(name, "vx.h") for name in handles(tree)]
    asked += [(row[0].strip("`"), "the table of docs/phases.md") for row in rows(tree.read("docs/phases.md")) if row[0] != "module"]
    roles = re.search(r"typedef enum vx_variable_role \{(.*?)\}", tree.read("runtime/include/vx/runtime/vx.h"), re.S)[1]
    asked += [(name.lower(), "vx_variable_role") for name in re.findall(r"VX_ROLE_(\w+) = \d+,", roles)]
    for name, source in asked:
        if name not in entries:
            yield f"{page}: expected an entry '{name}', which is of {source}"


CHECKS = {name.removeprefix("check_"): function for name, function in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("checks", nargs="*", default=list(CHECKS))
    arguments = parser.parse_args()
    tree, wrong = Tree(arguments.source), 0
    for name in arguments.checks:
        for line in CHECKS[name](tree):
            print(line)
            wrong += 1
    print(f"{len(arguments.checks)} checks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
