"""Go's text/template with Sprig's functions, in Python and safe for templates written by others.

    env = Environment(policy="operator", missing_key="error")
    template = env.parse("deployment.yaml", "name: {{ .Name }}-{{ add 1 .Index }}")
    text = template.render({"Name": "db", "Index": 1})

Templates that work in Go render to the same bytes here, and their errors read the same. A
template reaches nothing but its data: no Python attributes, files, environment or network in
policy "operator"; what it may cost is bounded by `Limits`. Everything that goes wrong is a
`TemplateError`.
"""

from gotemplate.compile.fields import MissingKey
from gotemplate.environment import Environment, Template
from gotemplate.errors import FunctionError, LimitError, TemplateError
from gotemplate.functions import Function, Policy, preload
from gotemplate.golang import durations
from gotemplate.golang.literals import quote, unquote
from gotemplate.golang.regex import RegexError, compile_regex
from gotemplate.parse import nodes
from gotemplate.parse.parser import parse_tree
from gotemplate.rendering import INLINE, Limits, Sources
from gotemplate.types.signature import Param
from gotemplate.types.versions import Precedence, Version, VersionError, parse_version

__all__ = [
    "INLINE",
    "Environment",
    "Function",
    "FunctionError",
    "LimitError",
    "Limits",
    "MissingKey",
    "Param",
    "Policy",
    "Precedence",
    "RegexError",
    "Sources",
    "Template",
    "TemplateError",
    "Version",
    "VersionError",
    "compile_regex",
    "durations",
    "nodes",
    "parse_tree",
    "parse_version",
    "preload",
    "quote",
    "unquote",
]
