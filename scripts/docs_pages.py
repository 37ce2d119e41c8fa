"""Lay out the pages of the site that `make docs` builds, in build/docs-pages.

They lie there as in the repository, so that links lead to the same place: the documents, the files
that they link to, and a page for each public module and for the commands. build/docs.yml is
mkdocs.yml with the navigation: what docs/README.md lists, in its order.
"""

import json
import re
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import quote

import click

from cdb.cmds.main import cdb

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "docs-pages"
DOCUMENTS = ("*.md", "docs/**/*.md", "replays/*.md", "reports/**/*.md")
INDEX = "docs/README.md"
UNLISTED = ["CONTRIBUTING.md", "CHANGELOG.md", "replays/README.md"]
"""The documents that the index does not list, and no other may it leave out."""
MODULES: dict[str, object] = {
    "cdb": {},
    "cdb.errors": {"filters": ["!^(?!.*Error$)"]},
    "cdb.schemas": {},
    "cdb.building": {},
    "cdb.testing": {},
    "cdb.testing.faults.suite": {},
    "cdb.chia": {},
}
"""The public ones, with what mkdocstrings shows otherwise there: of the errors, the classes."""
SEARCH = "docs/site/iframe-worker.js"
"""What mkdocs.yml has each page load."""
_LINK = re.compile(r"\[([^]]*)\]\(([^)#\s]+)(?:#[^)\s]+)?\)")


def documents() -> dict[str, str]:
    """The text of each document by its path, without links to folders, which no page is of."""
    paths = [path for pattern in DOCUMENTS for path in ROOT.glob(pattern)]
    return {path.relative_to(ROOT).as_posix(): _without_folders(path) for path in paths}


def _without_folders(document: Path) -> str:
    def kept(link: re.Match[str]) -> str:
        return link[1] if (document.parent / link[2]).is_dir() else link[0]

    return _LINK.sub(kept, document.read_text("utf-8"))


def linked_files(name: str, text: str) -> Iterator[str]:
    """The files of the repository that a document links to, by their paths."""
    for _, link in _LINK.findall(text):
        path = (ROOT / name).parent / link
        if path.is_file():
            yield path.resolve().relative_to(ROOT).as_posix()


def results() -> dict[str, bytes]:
    """The results that the page of figures links to, below the folder that it names, and a list."""
    found = {path.relative_to(ROOT).as_posix(): path for path in ROOT.glob("results/*/*.json")}
    links = (
        f'<li><a href="{quote(name.removeprefix("results/"))}">{escape(name)}</a>'
        for name in sorted(found)
    )
    listed = f"<!DOCTYPE html>\n<title>Results</title>\n<ul>{''.join(links)}</ul>\n"
    files = {name: path.read_bytes() for name, path in found.items()}
    return {**files, "results/index.html": listed.encode()}


def module_pages() -> dict[str, str]:
    """A page for each public module. mkdocstrings fills it, and imports nothing."""
    return {
        f"reference/{name}.md": f"# {name}\n\n::: {name}\n    options: {json.dumps(options)}\n"
        for name, options in MODULES.items()
    }


def commands_page() -> str:
    """What `--help` says of each command, in the groups of `cdb --help`."""
    context = click.Context(cdb, info_name="cdb", terminal_width=80, **cdb.context_settings)
    parts = ["# Commands", _help(context)]
    for title, lines in re.findall(
        r"^(\S.*):\n((?:  .*\n?)+)", cdb.get_help(context), re.MULTILINE
    ):
        names = [line.split()[0] for line in lines.splitlines() if line[2:3].strip()]
        if {*names} <= {*cdb.list_commands(context)}:
            parts += [f"## {title}", *_commands(names, cdb, context)]
    return "\n\n".join(parts)


def _commands(names: list[str], group: click.Group, parent: click.Context) -> Iterator[str]:
    """The parts of the page that are of these commands of a group, and of those in them."""
    for name in names:
        command = group.get_command(parent, name)
        if command is not None:
            context = click.Context(command, parent, name)
            yield f"### {context.command_path}"
            yield _help(context)
            if isinstance(command, click.Group):
                yield from _commands(command.list_commands(context), command, context)


def _help(context: click.Context) -> str:
    return f"```text\n{context.get_help()}\n```"


def navigation(texts: dict[str, str]) -> list[object]:
    """Each document where the index lists it first, with those beside it where it is a README."""
    listed = {"README.md", INDEX, *UNLISTED}
    _, *sections = re.split(r"^\*\*(\w+)\*\*", texts[INDEX], flags=re.MULTILINE)
    nav: dict[str, list[object]] = {}
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        nav[title] = []
        for label, link in _LINK.findall(section):
            path = ((ROOT / INDEX).parent / link).resolve().relative_to(ROOT)
            name = path.as_posix()
            if name in texts and name not in listed:
                listed.add(name)
                folder = path.parent if path.name == "README.md" else None
                beside = sorted({each for each in texts if Path(each).parent == folder} - listed)
                listed.update(beside)
                nav[title].append({label: [name, *beside]} if beside else name)
    nav["Start"] = ["README.md", INDEX, *nav["Start"]]
    nav["Reference"] += ["reference/commands.md", {"Python": [*module_pages()]}]
    nav["Project"] = [*UNLISTED]
    return [{title: pages} for title, pages in nav.items()]


def main() -> None:
    """Write all of it."""
    texts = documents()
    pages = {**texts, **module_pages(), "reference/commands.md": commands_page()}
    linked = {file for name, text in texts.items() for file in linked_files(name, text)}
    files = {file: (ROOT / file).read_bytes() for file in {SEARCH, *linked}}
    files |= {name: text.encode() for name, text in pages.items()} | results()
    shutil.rmtree(PAGES, ignore_errors=True)
    for name, content in files.items():
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / name).write_bytes(content)
    config = f"INHERIT: ../mkdocs.yml\nnav: {json.dumps(navigation(texts))}\n"
    (PAGES.parent / "docs.yml").write_text(config, "utf-8")


if __name__ == "__main__":
    main()
