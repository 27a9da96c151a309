"""Reads suites: suite files, cases, steps and asserts, and finds everything that is wrong."""

from kudo_harness.suite.case import Case, Objects, Step
from kudo_harness.suite.documents import Document
from kudo_harness.suite.limits import DEFAULT_LIMITS, SuiteLimits
from kudo_harness.suite.model import (
    AssertOptions,
    Collector,
    CollectorType,
    Command,
    DeletePods,
    Deletion,
    Fault,
    FaultService,
    FaultTime,
    Granularity,
    KubeconfigLoading,
    ListMatching,
    NodeNotReady,
    RefuseWrites,
    ReportFormat,
    ResourceRef,
    RestartService,
    StepOptions,
    SuiteOptions,
    Text,
)
from kudo_harness.suite.reading import CaseFolder, Suite, SuiteRequest, load_suite
from kudo_harness.suite.references import Download

__all__ = [
    "DEFAULT_LIMITS",
    "AssertOptions",
    "Case",
    "CaseFolder",
    "Collector",
    "CollectorType",
    "Command",
    "DeletePods",
    "Deletion",
    "Document",
    "Download",
    "Fault",
    "FaultService",
    "FaultTime",
    "Granularity",
    "KubeconfigLoading",
    "ListMatching",
    "NodeNotReady",
    "Objects",
    "RefuseWrites",
    "ReportFormat",
    "ResourceRef",
    "RestartService",
    "Step",
    "StepOptions",
    "Suite",
    "SuiteLimits",
    "SuiteOptions",
    "SuiteRequest",
    "Text",
    "load_suite",
]
