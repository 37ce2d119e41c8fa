"""Puts a fault point of cdb's Python into every process that has this directory in its PYTHONPATH.

CDB_FAULT names it. The statement whose first line has the comment `# fault: NAME` is left out of
what is compiled, and nothing that was compiled is kept.
"""

import ast
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

NAME = os.environ.get("CDB_FAULT")


class LeftOut(ast.NodeTransformer):
    """Replaces the statement that begins in a line by pass."""

    def __init__(self, line: int) -> None:
        self._line, self.n_found = line, 0

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.stmt) and node.lineno == self._line:
            self.n_found += 1
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)


def without(source: str, name: str) -> ast.Module:
    """A module without the statement of this fault. Raises ValueError where there is none."""
    lines = source.splitlines()
    mark = f"# fault: {name}"
    [line] = [number for number, text in enumerate(lines, 1) if text.endswith(mark)]
    left_out = LeftOut(line)
    tree = left_out.visit(ast.parse(source))
    if left_out.n_found != 1:
        raise ValueError(f"line {line} begins no statement, or several")
    assert isinstance(tree, ast.Module)
    return tree


class Loader(SourceFileLoader):
    """Compiles a module without the statement."""

    def get_code(self, fullname: str) -> CodeType:
        """See importlib."""
        assert NAME is not None
        tree = without(self.get_data(self.path).decode(), NAME)
        return compile(tree, self.path, "exec", dont_inherit=True)


class Finder(MetaPathFinder):
    """Finds the module that has the fault."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See importlib."""
        if not fullname.startswith("cdb."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        if f"# fault: {NAME}\n".encode() not in spec.loader.get_data(spec.loader.path):
            return None
        spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


if NAME:
    sys.meta_path.insert(0, Finder())
