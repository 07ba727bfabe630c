"""Checks the page of vx-bench against the JSON of the same run: check_page.py PAGE.html RESULT.json

The page is well formed, needs no other file, has a chart with a bar for each result and a table with a row for each, and every bar lies
inside of its chart."""
import html.parser
import json
import re
import sys

VOID = {"meta", "link", "br", "img", "hr", "input"}
SELF_CLOSED = {"rect", "path", "line", "circle"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.charts, self.rows, self.problems, self.text = [], [], 0, [], ""

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        for name in ("src", "href", "data", "action", "xlink:href"):
            if name in values:
                self.problems.append(f"<{tag}> refers to '{values[name]}'")
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.problems.append(f"<{tag}> has no place in the page")
        if tag == "svg":
            self.charts.append({"box": [float(number) for number in values["viewbox"].split()], "bars": [], "label": values["aria-label"]})
        if tag == "rect":
            self.bar(values)
        if tag == "tr":
            self.rows += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        if tag not in SELF_CLOSED | VOID:
            self.problems.append(f"<{tag}/> does not close itself")
        if tag == "rect":
            self.bar(dict(attributes))

    def bar(self, values):
        chart = self.charts[-1]
        x, y, width, height = (float(values[name]) for name in ("x", "y", "width", "height"))
        if values["class"] != "track":
            chart["bars"].append(width)
        if x < 0 or y < 0 or width < 0 or x + width > chart["box"][2] or y + height > chart["box"][3]:
            self.problems.append(f"a bar at {x},{y} of {width}x{height} leaves the chart {chart['box']}")

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes <{self.open[-1] if self.open else ''}>")
        else:
            self.open.pop()

    def handle_data(self, data):
        self.text += data


def main():
    source = open(sys.argv[1], encoding="utf-8").read()
    report = json.load(open(sys.argv[2], encoding="utf-8"))
    page = Page()
    page.feed(source)
    page.close()
    problems = page.problems + [f"<{tag}> is not closed" for tag in page.open]
    problems += [f"refers to '{url}'" for url in re.findall(r"url\([^)]*\)|@import[^;]*|https?://[^\s\"'<]*", source)]
    times = [chart for chart in page.charts if chart["label"] == "median time of a call"]
    bars = sum(len(chart["bars"]) for chart in times)
    if bars != len(report["results"]):
        problems.append(f"expected {len(report['results'])} bars of times, got {bars}")
    # In a chart the bars are as long as the numbers say.
    lengths = [length for chart in times for length in chart["bars"]]
    for (one, length), (other, width) in zip(zip(report["results"], lengths), list(zip(report["results"], lengths))[1:]):
        same = one["module"] == other["module"] and one["dims"] == other["dims"]
        if same and (one["median_ms"] < other["median_ms"]) != (length < width) and abs(length - width) > 0.2:
            problems.append(f"{one['median_ms']} ms has a bar of {length}, {other['median_ms']} ms one of {width}")
    kernels = [result["kernels"] for result in report["results"] if "kernels" in result]
    wanted = len(report["results"]) + 1 + sum(len(list_) + 1 for list_ in kernels)
    wanted += len(report["probes"]) + 1 if report["probes"] else 0
    if page.rows != wanted:
        problems.append(f"expected {wanted} rows in the tables, got {page.rows}")
    for list_ in kernels:
        for kernel in list_:
            problems += [f"node '{node}' is not named" for node in kernel["nodes"] if node not in page.text]
    print("\n".join(problems) or f"the page is right: {len(page.charts)} charts, {page.rows} rows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
