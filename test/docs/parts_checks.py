"""Checks of check_pages.py: the parts that the front page has, the pages that docs has, and the scripts, settings and tests that stand for the rest."""
import json
import re

from pages import rows, sections

PICTURE, CHART = "docs/pictures/overview.svg", "docs/pictures/speed.svg"
HEADINGS = ["Try it", "Speed", "What works where", "Other projects", "Not here", "Read on"]
TOOLS = ["vx-compile", "vx-run", "vx-train"]
CHART_PEERS = ["PyTorch", "ONNX Runtime"]
PROJECTS = ["ONNX Runtime", "IREE", "llama.cpp"]
LIMITS = ["Metal", "iOS", "Windows", "Android", "WebAssembly", "NPUs", "eager mode", "bf16 training", "conversations", "ROCm", "quantisation tools"]
AUDIENCES = {
    "ship a model": ["docs/start.md", "docs/install.md", "docs/features.md", "docs/selfcheck.md", "docs/python.md", "docs/benchmarks.md", "docs/onnx-ops.md", "docs/api.md"],
    "train a model": ["docs/training.md", "docs/dsl.md", "docs/python.md"],
    "serve a model": ["docs/serving.md", "docs/deployment.md", "docs/text.md", "docs/language-models.md"],
    "write compilers": ["docs/architecture.md", "docs/phases.md", "CONTRIBUTING.md", "docs/ops.md", "docs/passes.md", "docs/module-format.md", "docs/conformance.md", "docs/math.md"],
    "meet a word or an error": ["docs/glossary.md", "docs/troubleshooting.md", "docs/errors.md", "SECURITY.md"],
}

# Of each page: sections that have rows or items, and the least number of blocks of commands or code.
PAGES = {
    "CHANGELOG.md": ([], 0),
    "docs/backends.md": (["Which one", "What each one needs", "Targets, classes and variants"], 0),
    "docs/dsl-reference.md": ([], 100),
    "docs/environment.md": (["The runtime", "Tools", "The server", "Tests and scripts"], 0),
    "docs/errors.md": (["The runtime", "Refusals of a device", "The compiler", "Exit codes of the tools", "Exceptions in C++ and Python", "HTTP"], 0),
    "docs/first-hour-cpp.md": ([], 10),
    "docs/first-hour-python.md": ([], 10),
    "docs/glossary.md": ([], 0),
    "docs/http-reference.md": (["Routes", "Errors"], 0),
    "docs/numerics.md": (["Flags of vx-compile", "Settings of an instance"], 0),
    "docs/platforms.md": (["Operating systems", "Drivers", "Chips"], 0),
    "docs/python-reference.md": ([], 100),
    "docs/roadmap.md": (["Missing today", "Next", "Not planned"], 0),
    "docs/selfcheck.md": (["Exit codes", "The report"], 1),
    "docs/troubleshooting.md": ([], 0),
}
TERMS = ["instance", "call", "program", "segment", "variant", "class", "derived value", "device", "module", "target", "phase"]
NUMERICS = ["--strict-math", "--precision", "--memory"]

# Tests of the default run, each with its file, and shards of `scripts/test --all` with a part of their commands.
TESTS = {
    "test/docs/CMakeLists.txt": ["docs.blocks", "docs.blocks.faults", "docs.pages", "docs.pages.faults"],
    "test/scripts/CMakeLists.txt": ["scripts.prose", "docs.prose", "scripts.figures", "scripts.pictures", "scripts.release", "scripts.test_fast", "scripts.test_shards"],
    "test/CMakeLists.txt": ["package.release", "compat", "compat.faults"],
}
SHARDS = {"site": "test/docs/check_site.py", "release": "test/package/run_release.py --build build --source . --twice", "release-roots": "test/package/run_roots.py"}
# (file, pattern, the part that it is).
SETTINGS = [
    ("scripts/test", r'^step "[^"]*" scripts/prose --diff\b', "the ratchet on words of added lines"),
    ("docs/site/mkdocs.yml", r"^theme:\n  name: material$", "the theme mkdocs-material"),
    ("docs/site/mkdocs.yml", r"^  - search$", "the search"),
    ("docs/site/mkdocs.yml", r"^      scheme: slate$", "the dark mode"),
    ("scripts/site", r'"scripts/pictures", "--check"', "the check of pictures"),
    ("scripts/site", r'"build", "--strict"', "the check of links"),
    ("scripts/release", r'^    git\("tag", "--annotate"', "the tag"),
    ("scripts/release-files", r"^        release\.make_runtime\(\)$", "the tarball of the runtime"),
    ("scripts/release-files", r"^        release\.make_debs\(\)$", "the Debian packages"),
    ("scripts/release-files", r"^        release\.make_wheels\(", "the wheels"),
    ("scripts/release-files", r"^    release\.write_sbom\(\)$", "the list of libraries"),
    ("scripts/release-files", r"^    release\.write_sums\(\)$", "the checksums"),
    ("scripts/release-files", r'"build-wheels"\), self\.build, self\.out, "--check"\)', "the check of wheels by auditwheel"),
    ("scripts/build-wheels", r'"auditwheel", "show"', "the check of wheels by auditwheel"),
    ("test/package/run_roots.py", r'^SUITES = \{"bookworm": .*"trixie": ', "the roots of Debian 12 and 13"),
    ("test/package/run_roots.py", r"^LIMIT = 60\b", "the 60 seconds of an installation"),
]


def images(text):
    return re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)


def consoles(text):
    """(commands, output) of each block of a console; a command may have several lines."""
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        command = r"^\$ (?:.*\\\n)*.*\n?"
        yield re.findall(command, block, re.M), re.sub(command, "", block, flags=re.M).strip()


def chart_ratios(text):
    """(group, {network: times as fast as the peer}) of the chart's description."""
    for group in re.search(r"<desc>(.*?)</desc>", text, re.S)[1].split("; "):
        title, _, bars = group.rpartition("): ") if "): " in group else group.partition(": ")
        yield title, {name.strip(): float(value) for name, value in re.findall(r"(?:^|(?<=\d\d), )(.*?) (\d+\.\d\d)(?=, |$)", bars)}


def check_chart(tree, text):
    page = "README.md"
    if CHART not in images(text):
        yield f"{page}: Speed: expected the picture {CHART}"
        return
    ratios = list(chart_ratios(tree.read(CHART)))
    for peer in CHART_PEERS:
        if not any(f"against {peer}" in title for title, _ in ratios):
            yield f"{CHART}: expected a group of bars against {peer}"
    bars = [(name, value) for _, group in ratios for name, value in group.items()]
    if not any(value < 1 for _, value in bars) or not any(value > 1 for _, value in bars):
        yield f"{CHART}: expected wins and losses, got {bars}"
    losses = re.search(r"slower than its peers at:\n\n((?:[- ] .*\n)+)", text)
    for name in sorted({re.split(r"[ ,/]", name)[0].removesuffix("-base").removesuffix("-B") for name, value in bars if value < 1}):
        if not losses or name not in losses[1]:
            yield f"{page}: Speed: expected {name} in the list of losses, as the chart has it"


def check_front_page(tree):
    """README.md has its two lines, pictures, commands with output, peers, limits and links, and no tables of speed."""
    page = "README.md"
    text = tree.read(page)
    parts = sections(text, 2)
    head = text.split("\n## ")[0]
    first = re.match(r"# vx\n\n((?:[^\n#!].*\n)+)\n", head)
    if not first or first[1].count("\n") != 2:
        yield f"{page}: expected two lines on vx below the title"
    if PICTURE not in images(head):
        yield f"{page}: expected the picture {PICTURE} before the first heading"
    boxes = tree.read(PICTURE.replace(".svg", ".txt")).rpartition("->")[2].strip().splitlines()[1:]
    if len(boxes) != 4:
        yield f"{PICTURE}: expected four kinds of device in the last column, got {len(boxes)}"
    if list(parts) != HEADINGS:
        yield f"{page}: expected the headings {', '.join(HEADINGS)}, got {', '.join(parts)}"
    shown = [command for commands, output in consoles(parts.get("Try it", "")) if output for command in commands]
    for tool in TOOLS:
        if not any(f"/bin/{tool} " in command for command in shown):
            yield f"{page}: Try it: expected a command of {tool} with its output"
    yield from check_chart(tree, parts.get("Speed", ""))
    if "](docs/benchmarks.md#speed)" not in parts.get("Speed", ""):
        yield f"{page}: Speed: expected a link to the tables of docs/benchmarks.md"
    if "<!-- figures " in text or "<!-- figures " not in tree.read("docs/benchmarks.md"):
        yield f"{page}: expected the tables of speed in docs/benchmarks.md, and none here"
    yield from check_tables(page, parts)


def check_tables(page, parts):
    projects = {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", row[0]): row[1:] for row in rows(parts.get("Other projects", ""))}
    for name in PROJECTS:
        if len(projects.get(name, [])) != 2 or not all(len(cell.split()) > 5 for cell in projects[name]):
            yield f"{page}: Other projects: expected a row '{name}' with the strengths of both"
    limits = rows(parts.get("Not here", ""))
    for name in LIMITS:
        if not any(name in row[0] and len(row[1].split()) > 3 for row in limits):
            yield f"{page}: Not here: expected a row with '{name}' and its reason"
    audiences = {row[0]: row[1] for row in rows(parts.get("Read on", ""))}
    for name, pages in AUDIENCES.items():
        links = re.findall(r"\]\(([^)#]+)", audiences.get(name, ""))
        for missing in [one for one in pages if one not in links]:
            yield f"{page}: Read on: expected '{missing}' for readers who {name}"


def check_pages(tree):
    """Each page that readers look things up in is there, with its sections and blocks."""
    for page, (headings, least) in PAGES.items():
        if not tree.exists(page):
            yield f"{page}: there is no such page"
            continue
        text = tree.read(page)
        parts = sections(text, 2)
        for heading in headings:
            if not rows(parts.get(heading, "")) and not re.search(r"^(?:\d+\.|-) ", parts.get(heading, ""), re.M):
                yield f"{page}: expected a section '{heading}' with rows or items"
        count = len(re.findall(r"^```\w+$", text, re.M))
        if count < least:
            yield f"{page}: expected {least} blocks or more, got {count}"
    entries = sections(tree.read("docs/glossary.md"), 3)
    for term in TERMS:
        if not entries.get(term, "").strip():
            yield f"docs/glossary.md: expected an entry '{term}'"
    flags = " ".join(row[0] for row in rows(tree.read("docs/numerics.md")))
    for flag in NUMERICS:
        if f"`{flag}`" not in flags:
            yield f"docs/numerics.md: expected a row '{flag}'"


def check_parts(tree):
    """The settings of scripts, the tests of the default run and the shards of `scripts/test --all` that the pages and a release rely on."""
    for path, pattern, part in SETTINGS:
        if not tree.exists(path) or not re.search(pattern, tree.read(path), re.M):
            yield f"{path}: expected {part}"
    for path, names in TESTS.items():
        default = re.findall(r"add_test\(NAME (\S+) ((?:(?!CONFIGURATIONS|\)\n).)*)\)\n", tree.read(path), re.S)
        for name in names:
            if name not in [one for one, _ in default]:
                yield f"{path}: expected the test '{name}' in the default run"
    shards = {shard["name"]: " ".join(shard.get("command", [])) for shard in json.loads(tree.read("scripts/test-shards.json"))}
    for name, command in SHARDS.items():
        if command not in shards.get(name, ""):
            yield f"scripts/test-shards.json: expected a shard '{name}' that runs {command}"
