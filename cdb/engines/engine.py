"""What is known of an ordered key-value engine, whatever is kept in it."""

from typing import NamedTuple

from cdb.extensions.native import AGAIN, NativeEngine


class Engine(NamedTuple):
    """An engine of the table.

    name: of its file here, of its source in native/engines/, and of the extension module that has
    all that is kept in it. schema: the module in cdb/schemas that is the layout interval in it;
    every other layout has its schema without a module. library: its name to users. install: what
    it needs to be built. good_for: when to take the layout interval in it, behind "take it"; an
    engine that does not say it is left out of README's table. with_threads: whether the library
    keeps threads of its own; see NativeEngine. writes_maps: whether it writes to files by mapping
    them, which not every file system can. is_asked_for: whether it is built only where asked, by
    make engine-NAME. language: what it is written in, where it shares a library with others of
    that. folders: of the directories that it makes in its own, see
    cdb.disk.paths.check_directory().
    """

    name: str
    schema: str
    library: str
    install: str
    good_for: str = ""
    with_threads: bool = False
    writes_maps: bool = False
    is_asked_for: bool = False
    language: str = ""
    folders: str = ""

    def native(self, prefix: str) -> NativeEngine:
        """One face of its extension module. prefix: of that face's functions."""
        return NativeEngine(
            f"cdb.engines._{self.name}",
            f"the {self.library} engine",
            self.install,
            prefix=prefix,
            with_threads=self.language or (self.library if self.with_threads else ""),
            is_loaded_late=self.language != "",
            makes_own_calls=self.language == "Go",
            is_asked_for=self.is_asked_for,
            folders=self.folders,
            then=f"type 'make engine-{self.name}'" if self.is_asked_for else AGAIN,
        )
