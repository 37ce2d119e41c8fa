"""The process of one run: takes a workload as JSON on standard input, and answers so too.

Its argument is the id of the process that waits for the answer; when that ends, so does this.
"""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from typing import Any

from cdb.errors import CdbError
from cdb.lab.process import Answer, NotMeasuredError, WrongAnswerError
from cdb.process.termination import end_with


def main() -> None:
    """Run one workload."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says what there is to say
    end_with(int(sys.argv[1]))
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what a schema prints is no answer
        text = sys.stdin.read()
        if not text:  # who waits for it was broken off before there was a job
            return
        job = json.loads(text)
        workload = getattr(import_module(job["module"]), job["function"])
        json.dump(asdict(_answer(workload, job["arguments"], job["named"])), out)


def _answer(workload: Callable[..., Any], arguments: list[Any], named: dict[str, Any]) -> Answer:
    try:
        return Answer(figures=asdict(workload(*arguments, **named)))
    except NotMeasuredError as error:
        return Answer(not_measured=str(error))
    except WrongAnswerError as error:
        return Answer(wrong=str(error))
    except CdbError as error:
        return Answer(error=str(error))
    except Exception as error:
        # A schema may be anybody's code, and then only its author knows what this means.
        traceback.print_exc()
        return Answer(error=" ".join(f"{type(error).__name__}: {error}".split()))


if __name__ == "__main__":
    main()
