"""Names the database that a command is about in what its errors tell to type."""

from collections.abc import Iterator
from contextlib import contextmanager

from cdb.contract.location import Location
from cdb.contract.printable import shell_word
from cdb.errors import VERIFY, CdbError, reading_advice, verify_advice
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
    """In the text of an error. No repair is advised where the schema has none."""
    if schema.spec.repair is None:
        problem = problem.replace(verify_advice(VERIFY), reading_advice(VERIFY))
    return problem.replace(VERIFY, f"cdb verify {schema.name} --db {shell_word(str(location))}")
