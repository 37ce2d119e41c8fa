"""What a database holds, read through the contract alone: no case, unless that is wrong."""

from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.contents.state import summarize
from cdb.lab.process import WrongAnswerError


def measure(database: Database) -> list[Case]:
    """See cdb.contents.state.summarize."""
    with database.info.open(database.path, read_only=True) as schema:
        held = summarize(schema).digest
    wanted = database.truth.digest
    if held != wanted:
        raise WrongAnswerError(f"its digest is {held}, and should be {wanted}")
    return []
