"""What mkdocs calls while it builds the site: Markdown as forges read it."""
import re

import markdown

ITEM = re.compile(r"( *)(?:[-*+]|\d+[.)]) ")


class TwoSpaces(markdown.Extension):
    """A list in a list is indented by two spaces."""

    def extendMarkdown(self, md):
        md.tab_length = 2
        md.build_parser()  # its parts have read the length


def on_config(config):
    # Before the others, which add to the parser.
    config.markdown_extensions.insert(0, TwoSpaces())
    return config


def on_page_markdown(text, **_):
    """A list that begins in the line after a paragraph gets an empty line before it."""
    lines, fenced, in_list = [], False, False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        if not line.strip():
            in_list = False
        elif not fenced and ITEM.match(line):
            if not in_list and lines and lines[-1].strip():
                lines.append("")
            in_list = True
        lines.append(line)
    return "\n".join(lines)
