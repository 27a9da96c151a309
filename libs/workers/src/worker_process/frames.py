"""The frames on the two pipes of a worker process: requests and answers.

A request is its header, the name of a handler in UTF-8, and the payload. An answer is its header
and a body; the first one, READY or NOT_STARTED, comes without a request.
"""

import struct
from enum import IntEnum

REQUEST = struct.Struct("!dHI")
"""Seconds of CPU of the job, bytes of the handler's name, bytes of the payload."""
ANSWER = struct.Struct("!BI")
"""Kind, bytes of the body."""


class Kind(IntEnum):
    """What an answer means, and its body.

    READY: the process takes jobs; the body is empty.
    NOT_STARTED: it cannot, and exits; the body says why, without data of a tenant.
    DONE: what the handler returned.
    LAST: the same, and the process exits, since it has grown too large for another job.
    MEMORY: the address space was exhausted; the process exits.
    TOO_LARGE: the handler returned more than an answer may hold.
    FAILED: the handler raised; the body is the name of the exception's type.
    """

    READY = 1
    NOT_STARTED = 2
    DONE = 3
    LAST = 4
    MEMORY = 5
    TOO_LARGE = 6
    FAILED = 7
