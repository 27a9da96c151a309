"""Pipe tasks: files that an init container makes become ConfigMaps and Secrets.

    template -> pod of the user -> pod with a waiter -> files -> artifacts

The pod runs the user's init container, then waits so that its files can be read. This
package has the names, checks and objects; the reconciler runs the pod and reads the files.
"""

from kudo.tasks.pipe.artifacts import (
    MAX_FILE_BYTES,
    MAX_TOTAL_BYTES,
    EnvFileError,
    PipeNames,
    artifact,
    check_sizes,
    naming_problems,
    parse_env_file,
    path_of,
    pipes,
    unreadable,
    uses,
)
from kudo.tasks.pipe.pod import is_pipe_pod, read_pod, validate, waiter_pod

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_TOTAL_BYTES",
    "EnvFileError",
    "PipeNames",
    "artifact",
    "check_sizes",
    "is_pipe_pod",
    "naming_problems",
    "parse_env_file",
    "path_of",
    "pipes",
    "read_pod",
    "unreadable",
    "uses",
    "validate",
    "waiter_pod",
]
