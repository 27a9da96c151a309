"""Messages of failed tasks in the words of KUDO 0.19, and the cause without these words.

Asserts of published suites compare the messages, so statuses and events keep them. Whoever reads
one is shown the cause.
"""

import re
from typing import Final

FAILED: Final = "Error during execution: fatal error: "
UNHEALTHY: Final = "is NOT healthy: fatal error: HealthUtil: "

_WORDS: Final = re.compile(
    r"A transient error when executing task \S{1,600}\. Will retry\. "
    rf"|{FAILED}(?:\S{{1,320}} failed in \S{{1,600}}: )?"
    r"|(?<!\S)[^\s/]{1,63}/[^\s/]{1,253} fatal error:  "
    rf"|(?<!\S)object [^\s/]{{0,63}}/[^\s/]{{1,253}} {UNHEALTHY}"
)


def fatal(instance: str, task: str, text: str) -> str:
    """Return the message of a step whose task has failed for good."""
    return f"{FAILED}{instance} failed in {task}: {text}"


def undefined(instance: str, text: str) -> str:
    """Return the message of a step whose task does not exist or cannot be built."""
    return f"{instance} fatal error:  {text}"


def transient(task: str, text: str) -> str:
    """Return the message of a step whose task is tried again."""
    return f"A transient error when executing task {task}. Will retry. {text}"


def unhealthy(namespace: str, name: str, text: str) -> str:
    """Return the error of a task that applied an object which has failed."""
    return f"object {namespace}/{name} {UNHEALTHY}{text}"


def cause_in(message: str) -> str:
    """Return a message without the words before its cause, and before that of a child Instance."""
    return _WORDS.sub("", message)
