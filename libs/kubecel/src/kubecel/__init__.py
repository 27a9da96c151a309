"""CEL with the functions of Kubernetes, and errors in words.

`cel-expr-python` compiles and evaluates. It is imported when the first environment is made, since
it may not be installed: the single file of the plugin does not have it.

It bounds how many steps an expression takes, at 10,000, and not how much memory: 24 nested
`cel.bind(x, y + y, ...)` end the process. What others have written is therefore evaluated in a
process that has a limit of its own.
"""

from kubecel.environment import (
    Environment,
    LibraryMissing,
    NotCompiled,
    Program,
    Result,
    Values,
    environment,
    is_name,
)
from kubecel.functions import parse_quantity

__all__ = [
    "Environment",
    "LibraryMissing",
    "NotCompiled",
    "Program",
    "Result",
    "Values",
    "environment",
    "is_name",
    "parse_quantity",
]
