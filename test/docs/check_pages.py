#!/usr/bin/env python3
"""Compares pages with the sources that they speak of: check_pages.py --source . [NAME...]

Each check is a function below, by its name. It gives one line for each thing that is wrong. Exit code: 0 none, 1 some.
"""
import argparse
import functools
import glob
import os
import re
import sys
import urllib.parse

from forge_checks import check_forge, check_site  # noqa: F401
from parts_checks import check_front_page, check_pages, check_parts  # noqa: F401
from pages import Tree, anchors, list_sources, rows, sections, without_code


def check_links(tree):
    """Each relative link of a page leads to a file, and to a heading where it names one; each page is linked."""
    known, linked = {}, {"README.md"}
    for page in tree.pages():
        text = re.sub(r"`[^`\n]*`", "", without_code(tree.read(page)))
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if path != page:
                linked.add(path)
            if not tree.exists(path):
                yield f"{page}: '{link}': there is no file '{path}'"
            elif anchor and path.endswith(".md"):
                if path not in known:
                    known[path] = anchors(tree.read(path))
                if anchor not in known[path]:
                    yield f"{page}: '{link}': {path} has no heading '#{anchor}'"
    for page in tree.pages():
        if page not in linked:
            yield f"{page}: no other page has a link to it"


def handles(tree):
    """Objects of the C interface: of vx_module the name is module."""
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

def environment_of_server(tree):
    """{variable: key} of the keys of the configuration."""
    path = "runtime/lib/serve/configuration_keys.cpp"
    text = tree.read(path)
    table = re.search(r"const ConfigurationKey keys\[\] = \{(.*?)\n\};", text, re.S)[1]
    special = dict(re.findall(r'name == "(\w+)"\)\s+return "(VX_\w+)"', text))
    found = {}
    for group, name in re.findall(r'\{\{"([\w.]*)",\s*"(\w+)",', table):
        key = f"{group}.{name}" if group else name
        found[special.get(key, "VX_" + key.replace(".", "__").upper())] = key
    return found


@functools.cache
def environment_of_source(path, text):
    """The variables that a file of the product reads."""
    if "env" not in text and "LibraryNames" not in text:
        return []
    names = re.findall(r'\bgetenv\(\s*"(\w+)"', text) + re.findall(r"environ(?:\.get\(|\[)[\"'](\w+)", text) + re.findall(r'LibraryNames[^;]*?"(VX_\w+)"', text)
    if re.search(r"\bgetenv\((?!\s*\")", text):  # of a list in the same file
        names += re.findall(r'"([A-Z][A-Z0-9_]{2,})"', text)
    if "environ" in text and "runtime/lib/serve" in path:
        names += re.findall(r'\bvariable\("(\w+)"\)', text) + re.findall(r'Kind::environment, "(\w+)"', text)
    return names


@functools.cache
def environment_of_test(path, text):
    names = re.findall(r'\bgetenv\("(\w+)"', text) + re.findall(r"environ(?:\.get\(|\[)[\"'](VX_\w+)", text) + re.findall(r"ENV\{(\w+)\}", text)
    return names + (re.findall(r"\$\{((?:VX_\w+|CI)):?-", text) if path.startswith("scripts/") else [])


def environment_of_product(tree):
    """{variable: the file that reads it}."""
    found = {name: path for path, text in tree.sources() for name in environment_of_source(path, text)}
    return found | {name: "runtime/lib/serve/configuration_keys.cpp" for name in environment_of_server(tree)}


def environment_of_tests(tree):
    sources = tree.sources(("scripts", "test"), (".cpp", ".h", ".c", ".py", ".txt", ".cmake"))
    return {name: path for path, text in sources if not path.startswith("test/docs/") for name in environment_of_test(path, text)}


def check_environment(tree):
    """The page has the variables that are read, and no others; a server knows those of the product."""
    page = "docs/environment.md"
    parts = sections(tree.read(page), 2)
    named = {heading: {row[0].strip("`"): row for row in rows(text)} for heading, text in parts.items()}
    product, tests = environment_of_product(tree), environment_of_tests(tree)
    of_tests = named.pop("Tests and scripts", {})
    of_product = {name: row for table in named.values() for name, row in table.items()}
    for name, path in sorted(product.items()):
        if name not in of_product:
            yield f"{page}: '{name}' is missing, which {path} reads"
    for name, path in sorted(tests.items()):
        if name not in of_tests and name not in of_product:
            yield f"{page}: '{name}' is missing among those of tests and scripts, which {path} reads"
    for name in sorted(of_product):
        if name not in product:
            yield f"{page}: '{name}': nothing reads it"
    for name in sorted(of_tests):
        if name not in tests:
            yield f"{page}: '{name}': no test or script reads it"
    for name in set(re.findall(r"`(VX_[A-Z0-9_]+[A-Z0-9])`", tree.read(page))) - set(of_product) - set(of_tests):
        yield f"{page}: '{name}' stands in no table"
    serving = {row[5].strip("`"): row[1] or "none" for row in rows(tree.read("docs/serving.md")) if len(row) == 6}
    for name, key in environment_of_server(tree).items():
        row = of_product.get(name)
        if row and len(row) == 4 and row[2] != serving[name]:
            yield f"{page}: '{name}': expected the default {serving[name]}, got {row[2]}"
    known = set(re.findall(r'"(VX_\w+)"', tree.read("runtime/lib/serve/known_variables.h"))) | set(environment_of_server(tree)) | {"VX_CONFIG", "VX_SERVER__MODEL"}
    for name in sorted(set(product) - known):
        if name.startswith("VX_"):
            yield f"runtime/lib/serve/known_variables.h: '{name}' is missing: a server would warn of it"


def codes_of_errors(tree):
    """{heading of docs/errors.md: {the first cells of a row: the file that says so}}."""
    path = "runtime/include/vx/runtime/vx.h"
    codes = re.search(r"typedef enum vx_code \{(.*?)\} vx_code;", tree.read(path), re.S)[1]
    tools = "tools/command-line/command_line.cpp"
    exits, pending = {}, []
    number = {"Done": 0, **{name: int(value) for name, value in re.findall(r"(\w+) = (\d)", tree.read("tools/command-line/tool_error.h"))}}
    body = re.search(r"static ExitCode exitCodeOf\(vx_code code\) \{(.*?)\n\}", tree.read(tools), re.S)[1]
    for name, given in re.findall(r"case (VX_\w+):|(return ExitCode::\w+|break);", body):
        if name:
            pending.append(name)
        else:
            exits.update({code: number.get(given.rpartition(":")[2], number["Failed"]) for code in pending})
            pending = []
    found = {"The runtime": {(name, value, str(exits.get(name, "?"))): path for name, value in re.findall(r"(VX_\w+) = (\d+)", codes)}}
    path = "runtime/lib/hal/driver.cpp"
    found["Refusals of a device"] = {(name,): path for name in re.findall(r'return "(\w+)";', tree.read(path)) if name not in ("none", "unknown")}
    path = "compiler/include/vx/compiler/vxc.h"
    found["The compiler"] = {(name, value): path for name, value in re.findall(r"(VXC_\w+) = (\d+)", re.search(r"typedef enum vxc_result \{(.*?)\}", tree.read(path), re.S)[1])}
    found["Exit codes of the tools"] = {(value,): tools for value in re.findall(r"^  (\d)  ", re.search(r'ExitCodes = R"\((.*?)\)"', tree.read(tools), re.S)[1], re.M)}
    found["Exceptions in C++ and Python"] = {}
    for library in ("train", "serve"):
        path = f"runtime/include/vx/{library}/error.hpp"
        kinds = re.search(r"enum class Kind \{(.*?)\}", tree.read(path), re.S)[1]
        found["Exceptions in C++ and Python"].update({(name,): path for name in re.findall(r"^\s+(\w+),? +//", kinds, re.M)})
    path = "runtime/lib/serve/service_error.cpp"
    text = tree.read(path)
    words = dict(re.findall(r'constexpr std::string_view (\w+) = "(\w+)";', text))
    found["HTTP"] = {(status, name, words.get(kind, kind.strip('"'))): path for name, status, kind in re.findall(r'Row\{ErrorCode::\w+, "(\w+)", (\d+), ("?\w+"?)\}', text)}
    return found


def check_errors(tree):
    """The page has each code with its number, its exit code or status, and no others."""
    page = "docs/errors.md"
    parts = sections(tree.read(page), 2)
    for heading, codes in codes_of_errors(tree).items():
        table = [[cell.strip("`") for cell in row] for row in rows(parts.get(heading, ""))]
        got = [(row[0], row[1], row[-1]) if heading == "The runtime" else tuple(row[:len(next(iter(codes)))]) for row in table]
        for code, path in codes.items():
            if code not in got:
                yield f"{page}: {heading}: {' '.join(code)} is missing, which {path} has"
        for code in got:
            if code not in codes:
                yield f"{page}: {heading}: {' '.join(code)}: no source has it"
        for row in table:
            if any(not cell for cell in row):
                yield f"{page}: {heading}: {row[0]}: expected a cause and a remedy"


@functools.cache
def literals(text):
    """The text of all string literals of a source, one a line, with '...' in place of values."""
    joined = re.sub(r'"\s*\n\s*"', "", text)
    found = re.findall(r'"((?:\\.|[^"\\\n])*)"', joined)
    return "\n".join(re.sub(r"\{[^{}]*\}", "...", literal.replace('\\"', '"')) for literal in found)


def has_message(message, text):
    """Whether literals of a source have the fixed parts of a message, in their order where one literal has them all."""
    if message in text:
        return True
    parts = [part for part in re.split(r"\.\.\.", message) if len(part.strip(" '")) > 3]
    return bool(parts) and all(part.strip(" '") in text for part in parts)


# Messages that other programs print: the loader, pip and CMake.
OTHERS = ("error while loading shared libraries: libvx_runtime.so.0: cannot open shared object file", "is not a supported wheel on this platform",
          "error: externally-managed-environment", 'Could not find a package configuration file provided by "vx"')


def check_troubleshooting(tree):
    """Twenty symptoms or more, each with a message that a source or another program has, a cause and a cure."""
    page = "docs/troubleshooting.md"
    symptoms = {heading: text for part in sections(tree.read(page), 2).values() for heading, text in sections(part, 3).items()}
    if len(symptoms) < 20:
        yield f"{page}: expected 20 symptoms or more, got {len(symptoms)}"
    sources = [literals(text) for path, text in tree.sources()]
    for number, (heading, text) in enumerate(symptoms.items(), 1):
        if not heading.startswith(f"{number}. "):
            yield f"{page}: '{heading}': expected the number {number}"
        message = re.search(r"^> `(.*)`$", text, re.M)
        if not message:
            yield f"{page}: '{heading}': expected a message, '> `...`'"
        elif message[1] not in OTHERS and not any(has_message(message[1], source) for source in sources):
            yield f"{page}: '{heading}': no source has the message '{message[1]}'"
        for word in ("Cause", "Cure"):
            if f"- **{word}**: " not in text:
                yield f"{page}: '{heading}': expected '- **{word}**: '"


def check_http(tree):
    """The fields of bodies in the page are those that the server reads."""
    page, folder = "docs/http-reference.md", "runtime/lib/serve"
    read = {}
    for name in ("embedding_routes.cpp", "kserve_routes.cpp", "kserve_tensors.cpp", "repository_routes.cpp", "rerank_routes.cpp"):
        text = tree.read(f"{folder}/{name}")
        for listed in re.findall(r"checkMembers\(document, \{(.*?)\}", text, re.S):
            read.update({field: name for field in re.findall(r'"(\w+)"', listed)})
        read.update({field: name for field in re.findall(r'\b\w+Member\([^"()]*"(\w+)"', text)})
    told = {field.split(".")[-1].removesuffix("[]") for field in re.findall(r"^\| `([\w.\[\]]+)` \| [^|]+ \| [^|]+ \|$", re.sub(r"^\| `[A-Z].*$", "", tree.read(page).split("\n## Errors")[0], flags=re.M), re.M)} | {"parameters"}
    told |= set(re.findall(r'`\{"(\w+)"\}` \|$', tree.read(page), re.M))  # objects in a list
    for field in sorted(set(read) - told):
        yield f"{page}: the field '{field}' is missing, which {folder}/{read[field]} reads"
    for field in sorted(told - set(read)):
        yield f"{page}: the field '{field}': no source reads it"


def check_numerics(tree):
    """The page speaks of each flag of vx-compile and each setting of an instance, and of no others."""
    page = "docs/numerics.md"
    parts = sections(tree.read(page), 2)
    flags = set(re.findall(r'add_(?:option|flag)\(\s*"(?:-\w,)?(--[\w-]+)"', tree.read("tools/vx-compile/vx-compile.cpp"))) | {"--cpu", "--cuda", "--rocm", "--vulkan"}
    options = re.search(r"typedef struct vx_instance_options \{(.*?)\n\} vx_instance_options;", tree.read("runtime/include/vx/runtime/vx.h"), re.S)[1]
    fields = set(re.findall(r"(\w+);$", re.sub(r"/\*.*?\*/", "", options, flags=re.S), re.M)) - {"struct_size"}
    for heading, known in (("Flags of vx-compile", flags), ("Settings of an instance", fields)):
        told = {name for row in rows(parts.get(heading, "")) for name in re.findall(r"`([\w-]+)`", row[0])}
        for name in sorted(known - told):
            yield f"{page}: {heading}: '{name}' is missing"
        for name in sorted(told - known):
            yield f"{page}: {heading}: '{name}' does not exist"
    rewrites = re.findall(r'def \w+ : Pass<"([\w-]+)"(?:(?!\ndef ).)*?"strict-math"', tree.read("compiler/include/vx/Transforms/Passes.td"), re.S)
    told = set(re.findall(r"`(vx-[\w-]+)`", re.search(r"`--strict-math` switches off (.*?)\.\n", tree.read(page), re.S)[1]))
    if told != set(rewrites):
        yield f"{page}: expected that --strict-math switches off {', '.join(sorted(rewrites))}, got {', '.join(sorted(told))}"


def check_tools(tree):
    """Each flag of vx-train and vx-bench is on its page."""
    for tool, page in (("vx-train", "docs/training.md"), ("vx-bench", "docs/benchmarks.md")):
        text = tree.read(page)
        for path, source in tree.sources((f"tools/{tool}",)):
            for flag in re.findall(r'add_(?:option|flag)\(\s*"(?:-\w,)?(--[\w-]+)', source):
                if not re.search(rf"{flag}(?![\w-])", text):
                    yield f"{page}: '{flag}' of {tool} is missing"


def check_backends(tree):
    """The variants of each target, their defaults, the order of devices and the oldest versions are those of the sources."""
    page = "docs/backends.md"
    text = tree.read(page)
    folder = "compiler/lib/Target"
    known, defaults = {}, {}
    for target, name in (("cuda", "CUDA/CUDAVariants.cpp"), ("rocm", "ROCM/ROCMVariants.cpp")):
        source = tree.read(f"{folder}/{name}")
        known[target] = re.findall(r'\{"(\w+)", ', re.search(r"known\[\] = \{(.*?)\};", source, re.S)[1])
        defaults[target] = re.findall(r'"(\w+)"', re.search(r"defaults\[\] = \{(.*?)\}", source)[1])
    source = tree.read(f"{folder}/LLVMCPU/CPUVariants.cpp")
    known["cpu"] = re.findall(r'^    \{"([\w+-]+)", ', re.search(r"known\[\] = \{(.*?)\};", source, re.S)[1], re.M)
    defaults["cpu"] = [known["cpu"][int(number)] for number in re.findall(r"makeSpec\(known\[(\d)\]\)", source)]
    known["cpu"].append("native")
    known["vulkan"] = defaults["vulkan"] = sorted(re.findall(r'\b\w+\.variant = "([\w-]+)"', tree.read(f"{folder}/Vulkan/VulkanBackend.cpp")), reverse=True)
    table = {row[0]: row for row in rows(sections(text, 2).get("Targets, classes and variants", ""))}
    for target in known:
        for number, names in ((1, known[target]), (2, defaults[target])):
            got = re.findall(r"`([\w+-]+)`", table.get(target, ["", "", ""])[number])
            if got != names:
                yield f"{page}: {target}: expected {', '.join(names)}, got {', '.join(got)}"
    order = ",".join(re.findall(r'"(\w+)"', re.search(r"defaultOrder\[\] = \{(.*?)\}", tree.read("runtime/lib/exec/device_report.cpp"))[1]))
    cuda = int(re.search(r"minVersion = (\d+)", tree.read("runtime/lib/drivers/cuda/cuda_vendor.h"))[1])
    hip = int(re.search(r"minVersion = (\d+)", tree.read("runtime/lib/drivers/hip/hip_vendor.h"))[1])
    for words in (f"order: `{order}`", f"CUDA {cuda // 1000}.{cuda % 1000 // 10}", f"ROCm {hip // 10000000}.{hip // 100000 % 100}"):
        if words not in text:
            yield f"{page}: expected '{words}'"


def check_codegen(tree):
    """The page has the strategies of products of each target, and the reasons of those in plain loops, word for word."""
    page = "docs/codegen.md"
    parts = sections(tree.read(page), 2)
    source = tree.read("compiler/lib/Analysis/ProductCandidates.cpp")
    reasons, got = re.findall(r'return "(.*)";', source), [row[0] for row in rows(parts.get("Products in plain loops", ""))]
    if got != reasons:
        yield f"{page}: expected the reasons {reasons}, got {got}"
    for path in ("compiler/lib/Target/LLVMCPU/ChooseCPUStrategy.cpp", "compiler/lib/Codegen/GPU/ChooseGPUStrategy.cpp"):
        mnemonics = dict(re.findall(r'def VX_(\w+)Attr : VX_\w+<"\w+", "(\w+)"', tree.read("dialects/include/vx/Dialect/VX/IR/VXStrategies.td")))
        for name in sorted(set(re.findall(r"(\w+)Attr::get\(", tree.read(path))) & {"CPUProduct", "CPUDepthwise", "TiledProduct", "Mma", "Rows", "ThreadRows"}):
            if f"`{mnemonics[name]}`" not in parts.get("Strategies", ""):
                yield f"{page}: the strategy '{mnemonics[name]}' of {path} is missing"


def check_platforms(tree):
    """Each variant of docs/backends.md and each driver of the runtime has a state."""
    page = "docs/platforms.md"
    parts = sections(tree.read(page), 2)
    states = ("tested", "manual", "emulated", "never run", "not supported")
    for heading in ("Operating systems", "Drivers", "Chips"):
        for row in rows(parts.get(heading, "")):
            if not row[-1].startswith(states):
                yield f"{page}: {heading}: {row[0]}: expected one of {', '.join(states)}, got '{row[-1]}'"
    told = {}
    for row in rows(parts.get("Chips", "")):
        for name in re.findall(r"`([\w-]+)`", row[1]):
            if (row[0], name) in told:
                yield f"{page}: Chips: '{name}' of {row[0]} has two states"
            told[row[0], name] = row
    known = {(row[0], name) for row in rows(sections(tree.read("docs/backends.md"), 2).get("Targets, classes and variants", "")) for name in re.findall(r"`([\w-]+)`", row[1])}
    for target, name in sorted(known - set(told)):
        yield f"{page}: Chips: '{name}' of {target} is missing"
    for target, name in sorted(set(told) - known):
        yield f"{page}: Chips: {target} has no variant '{name}'"
    drivers = {re.match(r"\w+", row[0])[0] for row in rows(parts.get("Drivers", ""))}
    folders = {"host": "cpu", "hip": "rocm"}
    for folder in sorted(set(path.split("/")[3] for path, _ in tree.sources(("runtime/lib/drivers",)))):
        if folders.get(folder, folder) not in drivers:
            yield f"{page}: Drivers: '{folders.get(folder, folder)}' is missing"


def check_changelog(tree):
    """The newest entry is of the version that is built, and names its module ABI."""
    page = "CHANGELOG.md"
    entries = sections(tree.read(page), 2)
    newest = next(iter(entries), "")
    version = re.search(r"^project\(vx VERSION ([\d.]+)", tree.read("CMakeLists.txt"), re.M)[1]
    if not newest.startswith(version):
        yield f"{page}: expected the newest entry to be of {version}, got '{newest}'"
    stated = re.search(r'VX_VERSION_STRING "([\d.]+)"', tree.read("runtime/include/vx/abi/version.h"))[1]
    if stated != version:
        yield f"runtime/include/vx/abi/version.h: expected the version {version} of CMakeLists.txt, got {stated}"
    abi = ".".join(re.findall(r"VX_MODULE_ABI_\w+ (\d+)", tree.read("runtime/include/vx/abi/version.h")))
    if f"Module ABI {abi}" not in entries.get(newest, ""):
        yield f"{page}: {newest}: expected 'Module ABI {abi}'"


# Flags of programs that are not of this tree.
OTHER_FLAGS = {"--now", "--variable"}  # systemctl, pkg-config


@functools.cache
def flags_of(text):
    return set(re.findall(r"--[a-z][a-z0-9-]+", text))


def check_flags(tree):
    """Each flag that a page names between backticks stands in a tool, a script or a test. Blocks of pages are run."""
    known = OTHER_FLAGS | {"--" + key.split(".")[-1].replace("_", "-") for key in environment_of_server(tree).values()}
    for path, text in tree.sources(("cmake", "runtime", "scripts", "test", "tools"), (".cpp", ".h", ".py", ".in", ".txt", ".cmake", ".sh")):
        if not path.startswith("test/docs/"):
            known |= flags_of(text)
    for page in tree.pages():
        for code in re.findall(r"`([^`\n]+)`", without_code(tree.read(page))):
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", code):
                if flag not in known and not flag.startswith("--vx-"):
                    yield f"{page}: '{flag}': no tool has it"


# Paths of other projects.
OTHER_PATHS = {"test/mockgpu/amd/emu.py"}


def check_paths(tree):
    """Each path and each source that a page names between backticks is there; a path may leave out its ending."""
    folders = ("base", "cmake", "compiler", "dialects", "docs", "examples", "frontends", "python", "runtime", "scripts", "test", "tools")
    names = {os.path.basename(path) for path in list_sources(tree.root, folders, ("",))}
    for page in tree.pages():
        for code in re.findall(r"`([^`\n]+)`", without_code(tree.read(page))):
            for path in re.findall(r"(?<![\w./~$<*-])([\w.-]+/[\w./-]+)", code):
                path = path.rstrip("./")
                is_there = tree.exists(path) or any(glob.iglob(os.path.join(glob.escape(tree.root), glob.escape(path) + "*")))
                if path.split("/")[0] in folders and path not in OTHER_PATHS and not is_there:
                    yield f"{page}: '{path}' is not there"
            if re.fullmatch(r"\w+\.(?:cpp|h|hpp|td|py|inc|mlir)", code) and code not in names:
                yield f"{page}: there is no file '{code}'"


def run_check(name, tree):
    """The lines of a check. A file that it reads, and which is not there, is one of them."""
    lines = []
    try:
        for line in CHECKS[name](tree):
            lines.append(line)
    except FileNotFoundError as error:
        lines.append(f"{os.path.relpath(error.filename, tree.root) if os.path.isabs(error.filename) else error.filename}: there is no such file, which the check '{name}' reads")
    return lines


CHECKS = {name.removeprefix("check_"): function for name, function in list(globals().items()) if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True)
    parser.add_argument("checks", nargs="*", default=list(CHECKS))
    arguments = parser.parse_args()
    tree, wrong = Tree(arguments.source), 0
    for name in arguments.checks:
        for line in run_check(name, tree):
            print(line)
            wrong += 1
    print(f"{len(arguments.checks)} checks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
