"""For pytest -p: state machines end at their first failure, and are the same each time.

To make a failure small takes minutes, which are lost where all that is asked is whether it fails.
"""

from hypothesis import Phase, settings

settings.register_profile(
    "first-failure", derandomize=True, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile("first-failure")
