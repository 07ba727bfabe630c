"""Pictures of the pages: text, boxes, bars and arrows as SVG, readable on light and on dark pages."""
from xml.sax.saxutils import escape

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 13px; fill: #1f2328; }
  .small { font-size: 11px; fill: #59636e; }
  .strong { font-weight: 600; }
  .box { fill: #f6f8fa; stroke: #818b98; }
  .main { fill: #ddf4ff; stroke: #0969da; }
  .line { stroke: #818b98; fill: none; }
  .tip { fill: #818b98; }
  .good { fill: #0969da; }
  .bad { fill: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .small { fill: #9198a1; }
    .box { fill: #161b22; stroke: #656c76; }
    .main { fill: #0c2d4d; stroke: #4493f8; }
    .line { stroke: #656c76; }
    .tip { fill: #656c76; }
    .good { fill: #4493f8; }
    .bad { fill: #f0883e; }
  }
"""


def number(value):
    return f"{value:.1f}".removesuffix(".0")


class Drawing:
    """Shapes in the order of their calls. Positions and sizes are pixels; y grows downwards."""

    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.parts = [f"<title>{escape(title)}</title>", f"<desc>{escape(description)}</desc>", f"<style>{STYLE}</style>"]

    def text(self, x, y, text, kind="", anchor="start"):
        name = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}"{name}>{escape(text)}</text>')

    def box(self, x, y, width, height, kind, radius=0):
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{radius}" class="{kind}"/>')

    def line(self, *points):
        self.parts.append(f'<polyline points="{" ".join(f"{number(x)},{number(y)}" for x, y in points)}" class="line"/>')

    def arrow(self, *points):
        """A line with a tip at its last point, which it reaches from the left."""
        x, y = points[-1]
        self.line(*points[:-1], (x - 6, y))
        self.parts.append(f'<polygon points="{number(x)},{number(y)} {number(x - 8)},{number(y - 4)} {number(x - 8)},{number(y + 4)}" class="tip"/>')

    def svg(self):
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n' + "\n".join(self.parts) + "\n</svg>\n"
