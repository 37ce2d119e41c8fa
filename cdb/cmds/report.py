"""report: what the results of cdb bench come to, as a page, as Markdown or as text."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cdb.bench.results import RESULTS, Document
from cdb.cmds.echo import echo
from cdb.cmds.options import PathType
from cdb.cmds.runner import run
from cdb.disk.files import write_output
from cdb.errors import CdbError

if TYPE_CHECKING:
    from cdb.report.parts import Document as Told
    from cdb.report.parts import Part

# What draws is imported late: it is an extra, and the command is to say how to install it.
FORMATS = ("html", "md", "terminal")
_NEEDED = ("jsonschema", "tabulate")


@click.command("report")
@click.argument("places", metavar="[RESULTS]...", nargs=-1, type=PathType(exists=True))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="A page in one file, Markdown, or text.  [default: html; terminal with --compare]",
)
@click.option(
    "--out",
    type=PathType(dir_okay=False),
    metavar="FILE",
    help="Where to write it.  [default: report.html for a page, standard output for the others]",
)
@click.option(
    "--compare",
    "names",
    nargs=2,
    metavar="A B",
    help="Instead, all figures of B beside those of A, and as ratios: two machines, two profiles, "
    "two commits, or two matrices, by what the results call them.",
)
@click.option(
    "--readme",
    type=PathType(exists=True, dir_okay=False),
    metavar="FILE",
    help="Instead, draw the table between the lines '<!-- cdb report --readme: begin -->' and "
    "'… end -->' of this file again, and its picture, docs/schemas.svg beside it.",
)
@click.option(
    "--node",
    type=PathType(exists=True, dir_okay=False),
    metavar="FILE",
    help="Instead, draw the tables of cdb bench node between the lines '<!-- cdb report --node: "
    "begin -->' and '… end -->' of this file again.",
)
@click.option(
    "--week",
    type=PathType(exists=True, dir_okay=False),
    metavar="FILE",
    help="Instead, the same with the tables of cdb bench week, between the lines '<!-- cdb report "
    "--week: begin -->' and '… end -->'.",
)
def report(
    places: tuple[Path, ...],
    form: str | None,
    out: Path | None,
    names: tuple[str, str] | None,
    readme: Path | None,
    node: Path | None,
    week: Path | None,
) -> None:
    """Show what schemas cost, from the results of cdb bench run, node, week and engines.

    RESULTS are files, or directories with results anywhere below; ./bench-results by default, where
    cdb bench puts them. Those of several machines make one report: the first path is your machine,
    and the others are marked as measured elsewhere. Only like is compared with like: one machine,
    profile, number of coins, durability and flush interval.

    \b
    Examples:
      cdb report                                   # write report.html
      cdb report --format terminal | less -S       # the same figures here
      cdb report bench-results results             # yours first, then those published with cdb
      cdb report bench-results/my-machine --format md --out report.md
      cdb report --compare fast slow               # what a slow disk does to each figure
      cdb report --compare 1a2b3c4 5d6e7f8         # what a commit has changed
    """
    drawn = {"--readme": readme, "--node": node, "--week": week}
    _check_usage(form, out, names, drawn)
    _check_installed()
    places = places or (RESULTS,)
    documents = _read(places)
    own = {each["machine"]["name"] for each in _read(places[:1])} if len(places) > 1 else set()
    pages = {option: page for option, page in drawn.items() if page is not None}
    if pages:
        [(option, page)] = pages.items()
        _write(_drawn(documents, option, page), page)
        if option == "--readme":
            _draw_picture(documents, page)
    elif names is not None:
        _write(_comparison(documents, names, form or "terminal"), out)
    elif form in (None, "html"):
        out = out or Path("report.html")
        _write(_page(documents, own, _from(out, places)), out)
    else:
        _write(_text(documents, own, form), out)


def _check_usage(
    form: str | None,
    out: Path | None,
    names: tuple[str, str] | None,
    drawn: Mapping[str, Path | None],
) -> None:
    given = [option for option, page in drawn.items() if page is not None]
    if len(given) > 1 or (given and (form or out or names)):
        raise click.UsageError(f"{given[0]} goes with no other option")
    if names is not None and form == "html":
        raise click.UsageError("--compare gives text: --format terminal or md")


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        problem = (
            f"a report needs {', '.join(missing)}; install it: pip install 'coinset-db[report]'"
        )
        raise CdbError(problem)


def _read(places: Sequence[Path]) -> list[Document]:
    from cdb.report.read import read

    for place in places:
        if not place.exists():
            raise CdbError(f"there are no results at {place}; make some: cdb bench run")
    documents = read(places)
    if not documents:
        where = ", ".join(map(str, places))
        raise CdbError(f"there are no results below {where}; make some: cdb bench run")
    return documents


def _page(documents: Sequence[Document], own: Collection[str], places: Sequence[str]) -> str:
    from cdb.report.build import build
    from cdb.report.html import page

    return page(build(documents, own), places)


def _from(page: Path, places: Iterable[Path]) -> list[str]:
    """Addresses of files and directories in a page."""
    return [Path(os.path.relpath(place, page.parent)).as_posix() for place in places]


def _text(documents: Sequence[Document], own: Collection[str], form: str) -> str:
    from cdb.report.build import build
    from cdb.report.document import document

    return _rendered(document(build(documents, own)), form)


def _comparison(documents: Sequence[Document], names: tuple[str, str], form: str) -> str:
    from cdb.report.compare import compare

    return _rendered(compare(documents, *names), form)


def _rendered(parts: "Told | Iterable[Part]", form: str) -> str:
    from cdb.report.text import markdown, terminal

    return markdown(parts) if form == "md" else terminal(parts)


def _drawn(documents: Sequence[Document], option: str, page: Path) -> str:
    """The page's text with its tables drawn again."""
    from cdb.report import readme
    from cdb.report.build import build

    draw = {
        "--readme": readme.with_table,
        "--node": readme.with_node_tables,
        "--week": readme.with_week_tables,
    }[option]
    return draw(_text_of(page), build(documents), page)


def _draw_picture(documents: Sequence[Document], page: Path) -> None:
    """Of the table, where a README has a place for it."""
    from cdb.report import readme
    from cdb.report.build import build

    picture = page.parent / readme.PICTURE
    if picture.parent.is_dir():
        _write(readme.picture(build(documents)), picture)


def _text_of(page: Path) -> str:
    try:
        return page.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise CdbError(f"{page} is no UTF-8 text: {error}") from error


def _write(text: str, file: Path | None) -> None:
    if file is None:
        echo(text, nl=False)
    else:
        write_output(file, text.encode())
        echo(f"wrote {file}", err=True)


if __name__ == "__main__":
    run(report)
