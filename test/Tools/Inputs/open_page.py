"""Opens a page in a headless browser and looks at what it drew: open_page.py BROWSER PAGE.html FOLDER

A script that only the copy in FOLDER has measures the page after its layout: no text of a chart leaves the chart or runs into a bar's
neighbour, and nothing makes the page scroll sideways. The picture must not be blank."""
import pathlib
import re
import struct
import subprocess
import sys
import zlib

MEASURE = """<script>
const problems = [];
for (const svg of document.querySelectorAll("svg")) {
  const box = svg.viewBox.baseVal;
  for (const text of svg.querySelectorAll("text")) {
    const place = text.getBBox();
    if (place.x < -0.5 || place.x + place.width > box.width + 0.5 || place.y + place.height > box.height + 0.5)
      problems.push("text leaves its chart: " + text.textContent);
  }
  for (const bar of svg.querySelectorAll("rect"))
    if (getComputedStyle(bar).fill === "rgb(0, 0, 0)") problems.push("a bar has no colour");
}
if (!document.querySelector("svg")) problems.push("no chart");
if (document.documentElement.scrollWidth > document.documentElement.clientWidth) problems.push("the page is too wide");
document.documentElement.setAttribute("data-verdict", problems.length ? problems.join("; ") : "right");
</script>"""


def count_colours(png):
    """The number of different pixels in an 8-bit PNG."""
    data, position, packed = png.read_bytes(), 8, b""
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position:position + 8])
        chunk = data[position + 8:position + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
        elif kind == b"IDAT":
            packed += chunk
        position += 12 + length
    size = {2: 3, 6: 4}[colour]
    rows, stride, before = zlib.decompress(packed), width * size + 1, bytes(width * size)
    colours = set()
    for y in range(height):
        kind, row = rows[y * stride], bytearray(rows[y * stride + 1:(y + 1) * stride])
        for i in range(len(row)):
            left = row[i - size] if i >= size else 0
            up, corner = before[i], before[i - size] if i >= size else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                guess = min((abs(up - corner), 0, left), (abs(left - corner), 1, up), (abs(left + up - 2 * corner), 2, corner))[2]
            else:
                guess = 0
            row[i] = (row[i] + guess) & 255
        colours.update(bytes(row[i:i + 3]) for i in range(0, len(row), size))
        before = row
    return len(colours)


def main():
    browser, page, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    measured, picture = folder / "measured.html", folder / "picture.png"
    measured.write_text(page.read_text(encoding="utf-8").replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    common = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1000,900",
              f"--user-data-dir={folder}/profile"]
    dump = subprocess.run(common + ["--dump-dom", measured.absolute().as_uri()], capture_output=True, text=True, timeout=120)
    verdict = re.search(r'data-verdict="([^"]*)"', dump.stdout)
    if not verdict or verdict[1] != "right":
        print(verdict[1] if verdict else f"the browser gave no page: {dump.stderr[-500:]}")
        return 1
    subprocess.run(common + [f"--screenshot={picture.absolute()}", page.absolute().as_uri()], capture_output=True, timeout=120, check=True)
    colours = count_colours(picture)
    if colours < 10:
        print(f"the picture has {colours} colours, expected 10 or more")
        return 1
    print("the page looks right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
