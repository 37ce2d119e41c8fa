"""Names the database that a command is about in what its errors tell to type."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.errors import VERIFY, CdbError
from cdb.plain import shell_word
from cdb.schemas import SchemaInfo


@contextmanager
def database_named(schema: SchemaInfo, path: Path) -> Iterator[None]:
    """In errors that leave the block."""
    try:
        yield
    except CdbError as error:
        error.args = (named(str(error), schema, path),)
        raise


def named(problem: str, schema: SchemaInfo, path: Path) -> str:
    """In the text of an error."""
    return problem.replace(VERIFY, f"cdb verify {schema.name} --db {shell_word(path)}")
