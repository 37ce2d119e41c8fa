"""HTML elements from their parts: text is escaped, and keeps no control character."""

import re
from html import escape

from cdb.contract.printable import printable


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


_NEVER_ENDED = ("input", "meta", "wbr", "td", "th", "tr")
"""HTML has no ends of some, and ends cells where the next begins: a tenth of a page of tables."""
_is_word = re.compile(r"[A-Za-z0-9_.:;-]+").fullmatch


def text(content: object) -> Html:
    """Text as markup."""
    return content if isinstance(content, Html) else Html(escape(printable(str(content))))


def join(*parts: object) -> Html:
    """Parts one after the other; None for none."""
    return Html("".join(text(part) for part in parts if part is not None))


def element(name: str, /, *content: object, **attributes: object) -> Html:
    """An element of HTML. An attribute of True has no value, one of None or False is none; class_
    is class, and a name's _ a -."""
    told = "".join(
        f" {_name(key)}" if value is True else f" {_name(key)}={_value(text(value))}"
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    end = "" if name in _NEVER_ENDED else f"</{name}>"
    return Html(f"<{name}{told}>{join(*content)}{end}")


def xml(name: str, /, *content: object, **attributes: object) -> Html:
    """An element of XML, such as a file of SVG is."""
    told = "".join(f' {_name(key)}="{text(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{told}>{join(*content)}</{name}>")


def _value(value: str) -> str:
    return value if _is_word(value) else f'"{value}"'


def _name(attribute: str) -> str:
    name = attribute.rstrip("_")
    return name if name == "viewBox" else name.replace("_", "-")
