"""Environments, which parse templates, and templates, which render.

An `Environment` is immutable after it was made and may be shared between threads; so may a
`Template`. Parsing is cached by name and text, because it costs as much as many renderings.
"""

import threading
from collections import ChainMap, OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, cast

from gotemplate.compile.compiler import Rules, compile_tree
from gotemplate.compile.fields import MissingKey
from gotemplate.compile.runtime import Code, Frame, UnplacedError
from gotemplate.errors import LimitError, TemplateError
from gotemplate.functions import Function, Policy, from_callable, table
from gotemplate.functions.dicts import snapshot
from gotemplate.golang.values import NO_VALUE, clean
from gotemplate.parse import nodes
from gotemplate.parse.parser import parse_tree
from gotemplate.rendering import Limits, Rendering, Sources

_POLICIES: Final = ("operator", "sprig")
_MISSING: Final = ("error", "zero", "default")


class Template:
    """A compiled template; made by `Environment.parse`."""

    __slots__ = ("_changes_data", "_codes", "_limits", "_sources", "tree")

    def __init__(
        self, tree: nodes.Tree, codes: Mapping[str, Code], limits: Limits, sources: Sources
    ) -> None:
        self.tree = tree
        self._codes = codes
        self._limits = limits
        self._sources = sources
        # Then it gets a copy of its data: `render` promises not to change what it is given.
        self._changes_data = any(code.changes_data for code in codes.values())

    @property
    def name(self) -> str:
        """The name it was parsed under."""
        return self.tree.name

    def render(
        self, data: Mapping[str, object], *, expired: Callable[[], bool] | None = None
    ) -> str:
        """Render the template.

        Args:
            data: what `.` and `$` are: dicts, lists, strings, numbers, booleans and None. It is
                not changed.
            expired: called now and then; returns whether the caller's time is up.

        Returns:
            The text. Bytes that are no UTF-8 (strings of templates may have them) are U+FFFD.

        Raises:
            TemplateError: the template failed or exceeded a limit; nothing else is raised.
        """
        run = Rendering(self._limits, expired, self._sources)
        out: list[str] = []
        code = self._codes[self.tree.name]
        slots: list[object] = [NO_VALUE] * code.slots
        try:
            run.charge(code.cost)
            slots[0] = snapshot(run, data) if self._changes_data else data
            code.run(Frame(run, slots, out.append), slots[0])
            return self._output(run, out)
        except UnplacedError as error:
            raise error.at(run.stopped_at) from error
        except LimitError as error:
            raise TemplateError(self.tree.name, str(error), limit=error.limit) from error
        except RecursionError as error:
            raise _too_deep(self.tree.name) from error
        except TemplateError:
            raise
        except Exception as error:
            # A fault of ours; a template that finds it must not stop whoever renders.
            reason = f"internal error: {type(error).__name__}: {error}"
            raise TemplateError(self.tree.name, reason) from error

    def _output(self, run: Rendering, parts: list[str]) -> str:
        """Return the output, unless it is too long."""
        # Characters first, which costs nothing: joining and encoding allocate as much again.
        run.check("output", sum(map(len, parts)))
        text = clean("".join(parts))
        if not text.isascii():
            run.check("output", len(text.encode()))
        return text


class Environment:
    """What templates share: functions, limits, and what a missing key means."""

    def __init__(
        self,
        policy: Policy = "operator",
        missing_key: MissingKey = "error",
        functions: Mapping[str, Callable[..., object] | Function] | None = None,
        limits: Limits | None = None,
        *,
        sources: Sources | None = None,
        cache_chars: int = 1 << 20,
    ) -> None:
        """Make an environment.

        Args:
            policy: "operator" has no function that reaches the environment, the files or the
                network of the process; "sprig" has all.
            missing_key: what `.x` gives when a map has no x: an error, nil ("zero") or no value
                ("default"); Go's option of the same name.
            functions: more functions, by name; they replace those of the policy.
            limits: what parsing and rendering may cost.
            sources: where functions get time and random bytes; by default the clock and the random
                numbers of the process.
            cache_chars: parsed templates are kept, the last used ones, up to this many characters
                of source together; 0 keeps none.

        Raises:
            ValueError: the policy or the option is unknown.
        """
        if policy not in _POLICIES:
            raise ValueError(f"unknown policy {policy!r}")
        if missing_key not in _MISSING:
            raise ValueError(f"unknown missing_key {missing_key!r}")
        self.limits = limits or Limits()
        self._sources = sources or Sources()
        own = {
            name: call if isinstance(call, Function) else from_callable(name, call)
            for name, call in (functions or {}).items()
        }
        # Not a copy: it would import the functions that no template calls.
        self._functions = ChainMap(own, cast("dict[str, Function]", table(policy)))
        self._rules = Rules(self._functions, missing_key)
        self._cache: OrderedDict[tuple[str, str], Template] = OrderedDict()
        self._cache_room = cache_chars
        self._lock = threading.Lock()

    @property
    def function_names(self) -> frozenset[str]:
        """The names templates may call."""
        return frozenset(self._functions)

    def parse(self, name: str, text: str) -> Template:
        """Parse and compile a template.

        Raises:
            TemplateError: the text is not a template, calls an unknown function, or is too large.
        """
        key = (name, text)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        # Without the lock: two threads may compile the same text, but none waits for another's.
        template = self._compile(name, text)
        with self._lock:
            self._keep(key, template)
        return template

    def _keep(self, key: tuple[str, str], template: Template) -> None:
        """Add a template to the cache and evict the oldest ones; the caller holds the lock."""
        if key not in self._cache:
            self._cache[key] = template
            self._cache_room -= _weight(key)
        while self._cache_room < 0 and self._cache:
            gone, _ = self._cache.popitem(last=False)
            self._cache_room += _weight(gone)

    def _compile(self, name: str, text: str) -> Template:
        try:
            tree = parse_tree(name, text, self._functions, self.limits)
            return Template(tree, compile_tree(tree, self._rules), self.limits, self._sources)
        except RecursionError as error:
            raise _too_deep(name) from error


def _weight(key: tuple[str, str]) -> int:
    """Return the size of a cached template; even the smallest takes some hundred bytes."""
    return len(key[0]) + len(key[1]) + 100


def _too_deep(name: str) -> TemplateError:
    message = "nesting limit exceeded: deeper than this process can follow"
    return TemplateError(name, message, limit="nesting")
