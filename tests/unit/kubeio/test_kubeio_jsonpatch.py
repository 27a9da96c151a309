"""JSON patch operations and pointers are well formed."""

from kubeio import jsonpatch


def test_pointers_are_escaped() -> None:
    assert jsonpatch.escape_pointer("kudo.dev/a~b") == "kudo.dev~1a~0b"
    path = jsonpatch.pointer(["metadata", "annotations", "x/y", 0, ""])
    assert path == "/metadata/annotations/x~1y/0/"
    assert jsonpatch.pointer([]) == ""


def test_operations_are_plain_objects() -> None:
    assert [
        jsonpatch.test("/a", 1),
        jsonpatch.add("/b", [2]),
        jsonpatch.replace("/c", None),
        jsonpatch.remove("/d"),
    ] == [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/b", "value": [2]},
        {"op": "replace", "path": "/c", "value": None},
        {"op": "remove", "path": "/d"},
    ]
