"""Full collections of garbage look at what is new, and at everything now and then."""

import subprocess
import sys
import textwrap


def ran(body: str) -> list[int]:
    """Run Python after `keep_collections_short` in a process of its own; return what it prints."""
    begin = "import gc, weakref\nfrom serving.program import keep_collections_short\n"
    text = f"{begin}keep_collections_short()\n{textwrap.dedent(body)}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def test_what_survived_a_full_collection_is_not_looked_at_again() -> None:
    before, after, looked_at = ran("""
        before = gc.get_freeze_count()
        cache = [[[]] for _ in range(10_000)]
        gc.collect()
        print(before, gc.get_freeze_count(), len(gc.get_objects()))
    """)
    assert after >= before + 10_000
    # Those of the interpreter and of the call itself.
    assert looked_at < 1_000


def test_garbage_of_what_is_new_is_found() -> None:
    [alive] = ran("""
        class Node: pass
        node = Node()
        node.itself = node
        found = weakref.ref(node)
        del node
        gc.collect()
        print(int(found() is not None))
    """)
    assert not alive


def test_garbage_of_what_is_old_is_found_once_there_is_much_more() -> None:
    alive_before, alive_after = ran("""
        class Node: pass
        node = Node()
        node.itself = node
        found = weakref.ref(node)
        gc.collect()
        del node
        gc.collect()
        print(int(found() is not None))
        cache = [[] for _ in range(550_000)]
        gc.collect()
        gc.collect()
        print(int(found() is not None))
    """)
    assert alive_before
    assert not alive_after
