"""What a flush promises."""

from enum import Enum


class Durability(Enum):
    """What survives once ``flush()`` has returned. docs/durability.md says how, per schema."""

    NONE = "none"
    """Nothing is promised."""
    PROCESS = "process"
    """It survives the death of the process (kill -9), but perhaps not that of the machine."""
    POWER = "power"
    """It survives power loss."""
