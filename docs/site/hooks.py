"""What the site needs beyond mkdocs: navigation by folders, links into the source tree, and files that the text names."""

import logging
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LOG = logging.getLogger("mkdocs.hooks.weir")
# What pages load: the library that draws diagrams, and what lets the search work in a folder. `make docs` fetches both.
# Where they are not, browsers load them from the network.
LIBRARIES = Path(os.environ.get("SITE_LIBRARIES", ROOT / "target/site-env/libraries"))
MERMAID = LIBRARIES / "mermaid/dist/mermaid.min.js"
WORKER = LIBRARIES / "iframe-worker/shim/index.js"
WORKER_URL = "https://unpkg.com/iframe-worker/shim"

LINK = re.compile(r"(?<!!)\[([^\]\[]+(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)\s]+)\)")
# A file of the source tree in the text, such as `crates/app/examples/get.rs`.
NAMED = re.compile(r"`((?:\.ci|crates|docs|fuzz|packaging|python|scenarios|tests|web|xtask)/[A-Za-z0-9_./-]+)`")
# The example that a reader adds, and the folder of that name in each crate.
PLACEHOLDERS = re.compile(r"[A-Z]{4,}|^crates/schemes/src/aimd\.rs$|^tests/suite$")
CODE = re.compile(r"`[^`]+`")
FENCE = re.compile(r"^\s*(```|~~~)")


def on_config(config):
    """Puts all pages of a folder where the navigation names it, by their titles, those of results last."""
    docs = Path(config.docs_dir)
    for entry in config.nav:
        for title, pages in entry.items():
            if isinstance(pages, str) and pages.endswith("/"):
                paths = sorted((docs / pages).glob("*.md"))
                entry[title] = [str(path.relative_to(docs)) for path in paths]
    return config


def on_files(files, config):
    for library, name in [(MERMAID, "site/mermaid.min.js"), (WORKER, "site/iframe-worker.js")]:
        if library.exists():
            files.append(File.generated(config, name, abs_src_path=str(library)))
    if MERMAID.exists() and "site/mermaid.min.js" not in config.extra_javascript:
        config.extra_javascript.append("site/mermaid.min.js")
    return files


def on_post_page(output, page, config):
    if not WORKER.exists():
        return output
    up = "../" * page.url.count("/")
    return output.replace(WORKER_URL, f"{up}site/iframe-worker.js")


def on_page_markdown(markdown, page, config, files):
    """Takes comments for the tests out, and makes text of links to files that are not on the site."""
    source = Path(page.file.abs_src_path)
    lines, in_code = [], False
    for line in markdown.split("\n"):
        in_code ^= bool(FENCE.match(line))
        if in_code:
            lines.append(line)
            continue
        if line.startswith("<!--") and line.endswith("-->"):
            continue
        for name in NAMED.findall(line):
            if not PLACEHOLDERS.search(name.removesuffix("README.md")) and not (ROOT / name).exists():
                LOG.warning("%s names %s, which does not exist", page.file.src_uri, name)
        if line.startswith("|"):
            # Of the two ways to write a bar in the code of a table's cell, the one that this renderer knows.
            line = CODE.sub(lambda code: code.group().replace("\\|", "|"), line)
        lines.append(LINK.sub(lambda found: link(found, source, config), line))
    return "\n".join(lines)


def link(found, source, config):
    """The link, or its text if it leads out of the documentation."""
    text, target = found.groups()
    if "://" in target or target.startswith(("#", "mailto:")):
        return found.group()
    path = (source.parent / target.split("#")[0]).resolve()
    if path.is_relative_to(config.docs_dir) and not path.is_dir():
        return found.group()
    if not path.exists():
        LOG.warning("%s links to %s, which does not exist", source.relative_to(ROOT), target)
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else target
    return text if name in text else f"{text} (`{name}`)"
