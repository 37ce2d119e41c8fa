"""What a schema answers while somebody means harm."""

from pathlib import Path
from random import Random

from cdb.testing.adversary import ATTACKS, FEW
from cdb.testing.base import SchemaTests
from cdb.testing.side_by_side import SideBySide


class AttackTests(SchemaTests):
    """Every attack with a few coins, one after the other; `cdb soak` makes them with masses."""

    def test_no_attack_changes_an_answer(self, path: Path) -> None:
        both = SideBySide(lambda: self.open(path))
        try:
            for name, attack in ATTACKS.items():
                try:
                    attack(both, Random(1), FEW)  # noqa: S311 - reproducible, not secret
                except Exception as error:
                    error.add_note(f"attack: {name}")
                    raise
        finally:
            both.schema.close()
