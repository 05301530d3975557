"""The interoperability table: each row belongs to the test that shows it."""

import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "reference" / "interoperability.md"

PINNED = {
    "python-ndn": ("requirements.txt", r"^python-ndn==(\S+)"),
    "NDNts": ("ndnts/package.json", r'"@ndn/packet": "([^"]+)"'),
    "ndnd": ("ndnd/go.mod", r"named-data/ndnd (\S+)"),
    "NFD": ("test_nfd.py", r'^TRIED = "(\S+)"'),
}

ROWS = []


def row(peer, feature, works="yes"):
    """Declares a test's row in the table: the peer, the feature, and that it works, or why it does not."""

    def add(test):
        ROWS.append((peer, feature, works))
        return test

    return add


def version(peer):
    """The version that is installed."""
    file, pattern = PINNED[peer]
    return re.search(pattern, (HERE / file).read_text(), re.MULTILINE)[1]


def table():
    """All rows as Markdown, by peer."""
    lines = ["| peer | feature | works |", "|---|---|---|"]
    for peer in PINNED:
        mine = [row for row in ROWS if row[0] == peer]
        lines += [f"| {peer} {version(peer)} | {feature} | {works} |" for _, feature, works in mine]
    lines += [f"| any | {feature} | {works} |" for peer, feature, works in ROWS if peer not in PINNED]
    return "\n".join(lines)


BEGIN, END = "<!-- generated from the tests: begin -->", "<!-- generated from the tests: end -->"


def page_with_table():
    """The page with the current table, and the committed page."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}", page
