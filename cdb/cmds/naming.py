"""Names the database that a command is about in what its errors tell to type."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdb.contract.location import Location
from cdb.contract.printable import shell_word
from cdb.errors import VERIFY, CdbError
from cdb.schemas import SchemaInfo


@contextmanager
def database_named(schema: SchemaInfo, location: Location) -> Iterator[None]:
    """In errors that leave the block."""
    try:
        yield
    except CdbError as error:
        error.args = (named(str(error), schema, location),)
        raise


def named(problem: str, schema: SchemaInfo, location: Location) -> str:
    """In the text of an error."""
    return problem.replace(VERIFY, f"cdb verify {schema.name} --db {shell_word(str(location))}")
