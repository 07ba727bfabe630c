"""Compares chat templates with PyPI's `jinja2`, set up as transformers has it: equal bytes, and errors where it has errors.

    run_templates.py --bin DIR [--cache DIR] [--made 3000] [--seed 1]

With --cache it renders the templates of models that come with llama.cpp, and ends with 77 where they cannot be downloaded. Without it, it renders
expressions and statements that are made at random, and those of template_cases.py.
"""
import argparse
import datetime
import json
import os
import pathlib
import struct
import subprocess
import sys
import time
import warnings

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

import template_cases
import vocabularies

NOW, MOST_SHOWN = 1721997296, 12


class Generation(jinja2.ext.Extension):
    """Marks the answer of the model; transformers finds masks by it."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_pass"), [], [], body).set_lineno(line)

    def _pass(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW).strftime(form)
    for name in ("lipsum", "cycler", "joiner"):
        made.globals.pop(name)
    return made


class Peer:
    """The process that answers for ours."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def render(self, source, variables):
        """A letter and a text."""
        for text in (source, json.dumps(variables)):
            data = text.encode()
            self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        header = self.process.stdout.read(5)
        if len(header) < 5:
            raise SystemExit(f"FAILED: template_peer ended at {source[:1000]!r} with {variables!r}")
        return chr(header[0]), self.process.stdout.read(struct.unpack("<I", header[1:])[0]).decode()

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"FAILED: template_peer ended with {self.process.returncode}")


class Comparison:
    def __init__(self, peer):
        self.peer, self.environment = peer, environment()
        self.rendered = self.refused = self.failed = self.unsupported = 0
        self.why = {}

    def compare(self, name, source, variables, may_lack=False):
        """Equal texts, or errors on both sides. With `may_lack` a clear 'not supported' of ours is counted."""
        try:
            expected = self.environment.from_string(source).render(**variables)
        except (jinja2.exceptions.TemplateError, TypeError, ValueError, ZeroDivisionError, OverflowError, LookupError, AttributeError, RecursionError, SyntaxError) as error:
            expected = error
        kind, got = self.peer.render(source, variables)
        if kind != "r" and may_lack and ("is not supported" in got or "2^63" in got):
            self.unsupported += 1
            self.why[got.partition(": ")[2]] = self.why.get(got.partition(": ")[2], 0) + 1
        elif isinstance(expected, Exception):
            self.refused += 1
            if kind == "r":
                self.fail(name, source, variables, f"{type(expected).__name__}: {expected}", got)
        elif kind != "r" or got != expected:
            self.fail(name, source, variables, expected, got)
        else:
            self.rendered += 1

    def fail(self, name, source, variables, expected, got):
        self.failed += 1
        if self.failed <= MOST_SHOWN:
            at = next((i for i, (a, b) in enumerate(zip(expected, got)) if a != b), min(len(expected), len(got)))
            begin = max(0, at - 60)
            shown = "the values" if variables is template_cases.VALUES else json.dumps(variables)[:400]
            print(f"{name} differs at character {at} for {shown}:\n  template {source[:400]!r}\n  expected {expected[begin:at + 120]!r}\n  got      {got[begin:at + 120]!r}")


def main():
    warnings.simplefilter("ignore")  # of Python about the code that Jinja makes
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--made", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    peer = Peer(options.bin / "template_peer")
    comparison = Comparison(peer)
    if options.cache:
        try:
            folder = vocabularies.fetch("llama-cpp-python", options.cache)
        except vocabularies.Missing as reason:
            print(reason)
            return 77  # the code of a test that was skipped
        templates = sorted(folder.glob("*.jinja"))
        if len(templates) < 60:
            raise SystemExit(f"FAILED: expected at least 60 templates, got {len(templates)}")
        never = []
        for path in templates:
            before = comparison.rendered
            for variables in template_cases.conversations():
                comparison.compare(path.stem, path.read_text(encoding="utf-8"), variables)
            if comparison.rendered == before:
                never.append(path.stem)
        print(f"{len(templates)} templates: {comparison.rendered} texts are equal, {comparison.refused} are refused by both")
        if never:
            print(f"no text of {', '.join(never)}")
    else:
        for source, variables in template_cases.CASES:
            comparison.compare("a case", source, variables)
        cases = comparison.rendered + comparison.refused
        for source, variables in template_cases.made(options.made, options.seed):
            comparison.compare("a made template", source, variables, may_lack=True)
        print(f"{cases} cases and {options.made} made templates: {comparison.rendered} texts are equal, {comparison.refused} are refused by both, "
              f"{comparison.unsupported} have what is not supported")
        if not comparison.failed and options.made >= 1000 and (comparison.rendered < options.made // 4 or comparison.unsupported > options.made // 7):
            raise SystemExit(f"FAILED: too few templates render; not supported: {sorted(comparison.why.items(), key=lambda item: -item[1])[:10]}")
    peer.close()
    if comparison.failed:
        raise SystemExit(f"FAILED: {comparison.failed} texts differ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
