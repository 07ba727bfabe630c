"""Faults that the checks of parts_checks.py must find, in the form of PLANTS in test_check_pages.py: each part that they name is taken out."""
import re

import parts_checks as parts

README, SHARDS = "README.md", "scripts/test-shards.json"


def without(tree, path, pattern, expected, new=""):
    """The file without the first text that matches the pattern; the pattern itself where none does, which then fails as a plant."""
    found = re.search(pattern, tree.read(path), re.M)
    return path, found[0] if found else pattern, new, expected


def front_page(tree):
    loss = re.search(r"^- several .*\n(?:  .*\n)*", tree.read(README), re.M)[0]
    yield README, "# vx\n\n", "# vx\n\nA first line.\n", "expected two lines on vx"
    yield README, f"]({parts.PICTURE})", f"]({parts.CHART})", f"expected the picture {parts.PICTURE}"
    yield without(tree, "docs/pictures/overview.txt", r"^AMD GPU.*\n", "expected four kinds of device in the last column, got 3")
    for heading in parts.HEADINGS:
        yield README, f"## {heading}\n", f"## About {heading}\n", f"expected the headings {', '.join(parts.HEADINGS)}"
    for tool in parts.TOOLS:
        yield README, f"$ build/bin/{tool} ", "$ build/bin/tool ", f"expected a command of {tool} with its output"
        block = next(block for block in re.findall(r"^```console\n.*?^```$", tree.read(README), re.M | re.S) if f"/bin/{tool} " in block)
        commands = "".join(re.findall(r"^\$ (?:.*\\\n)*.*\n", block, re.M))
        yield README, block, f"```console\n{commands}```", f"expected a command of {tool} with its output"
    yield README, f"]({parts.CHART})", "](docs/pictures/none.svg)", f"Speed: expected the picture {parts.CHART}"
    yield parts.CHART, "against ONNX Runtime", "against another", "expected a group of bars against ONNX Runtime"
    yield without(tree, parts.CHART, r"<desc>.*</desc>", "expected wins and losses", "<desc>CPU, f32, against PyTorch (eager): MLP 784, batch 128 1.66</desc>")
    yield without(tree, README, r"^- training steps of ResNet-50 and GPT-2 .*\n", "expected GPT-2 in the list of losses")
    yield README, "slower than its peers at:", "not always faster:", "expected ViT in the list of losses"
    yield README, "](docs/benchmarks.md#speed)", "](docs/benchmarks.md)", "expected a link to the tables"
    yield README, loss, loss + "\n<!-- figures cpu-models -->\n", "expected the tables of speed in docs/benchmarks.md"
    for name in parts.PROJECTS:
        yield README, f"| [{name}](", "| [Other](", f"expected a row '{name}' with the strengths of both"
        yield without(tree, README, rf"(?<=^\| )\[{re.escape(name)}\]\(\S+\) \| .*$", f"expected a row '{name}' with the strengths of both", f"[{name}](x) | | it has many things that we do not have |")
    for name in parts.LIMITS:
        row = rf"^\| [^|]*{re.escape(name)}[^|]*\|"
        yield without(tree, README, row, f"expected a row with '{name}' and its reason", "| other things |")
        yield without(tree, README, row + r"[^|]*\|", f"expected a row with '{name}' and its reason", f"| {name} | not yet |")
    for name, pages in parts.AUDIENCES.items():
        yield README, f"| {name} |", "| do more |", f"expected '{pages[0]}' for readers who {name}"
        row = re.search(rf"^\| {re.escape(name)} \|.*$", tree.read(README), re.M)[0]
        for page in pages:
            yield README, row, re.sub(rf"\]\({re.escape(page)}[^)]*\)", "](docs/roadmap.md)", row), f"expected '{page}' for readers who {name}"


def pages(tree):
    for page, (headings, least) in parts.PAGES.items():
        yield page, "", None, f"{page}: there is no such"
        for heading in headings:
            yield page, f"## {heading}\n", f"## About {heading}\n", f"{page}: expected a section '{heading}' with rows or items"
        if least:
            yield page, tree.read(page), re.sub(r"^```\w+$", "```", tree.read(page), flags=re.M), f"{page}: expected {least} blocks or more, got 0"
    for term in parts.TERMS:
        yield "docs/glossary.md", f"### {term}\n", f"### one {term}\n", f"expected an entry '{term}'"
    for flag in parts.NUMERICS:
        yield "docs/numerics.md", f"| `{flag}`", "| `--others`", f"expected a row '{flag}'"


def rest(tree):
    for path, pattern, part in parts.SETTINGS:
        yield path, "", None, f"{path}: expected {part}"
        yield without(tree, path, pattern, f"{path}: expected {part}")
    for path, names in parts.TESTS.items():
        for name in names:
            yield path, f"add_test(NAME {name} COMMAND", f"add_test(NAME {name} CONFIGURATIONS long COMMAND", f"{path}: expected the test '{name}' in the default run"
            yield path, f"add_test(NAME {name} COMMAND", f"add_test(NAME {name}2 COMMAND", f"{path}: expected the test '{name}' in the default run"
    for name, command in parts.SHARDS.items():
        yield SHARDS, f'"name": "{name}"', f'"name": "{name}2"', f"expected a shard '{name}' that runs {command}"
        yield SHARDS, command.split()[-1], "true", f"expected a shard '{name}' that runs {command}"


def plants(tree):
    return {"front_page": list(front_page(tree)), "pages": list(pages(tree)), "parts": list(rest(tree))}
