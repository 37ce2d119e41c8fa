"""What is known of an ordered key-value engine, whatever is kept in it."""

from typing import NamedTuple

from cdb.extensions.native import NativeEngine


class Engine(NamedTuple):
    """An engine of the table.

    name: of its file here, of its source in native/engines/, and of the extension module that has
    all that is kept in it. schema: the module in cdb/schemas that is the layout interval in it;
    every other layout has its schema without a module. library: its name to users. install: what
    it needs to be built. good_for: when to take the layout interval in it, behind "take it".
    with_threads: whether the library keeps threads of its own; see NativeEngine. writes_maps:
    whether it writes to files by mapping them, which not every file system can.
    """

    name: str
    schema: str
    library: str
    install: str
    good_for: str = ""
    with_threads: bool = False
    writes_maps: bool = False

    def native(self, prefix: str) -> NativeEngine:
        """One face of its extension module. prefix: of that face's functions."""
        return NativeEngine(
            f"cdb.engines._{self.name}",
            f"the {self.library} engine",
            self.install,
            prefix=prefix,
            with_threads=self.library if self.with_threads else "",
        )
