"""Label selectors judged locally agree with what the API server would select."""

import pytest

from kubeio.cache.informer import label_matcher


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        (None, {}, True),
        ("", {"a": "1"}, True),
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "1"}, True),
        ("a = 1", {"a": "1"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=1", {}, False),
        ("a=", {"a": ""}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a!=1", {"a": "2"}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("! a", {"a": ""}, False),
        ("a in (1, 2)", {"a": "2"}, True),
        ("a in (1,2)", {"a": "3"}, False),
        ("a notin (1,2)", {"a": "3"}, True),
        ("a notin (1,2)", {}, True),
        ("a notin (1,2)", {"a": "1"}, False),
        ("a in (1,2),b!=x, app.kubernetes.io/name=z", {"a": "1"}, False),
        ("a in (1,2),b!=x,app.kubernetes.io/name=z", {"a": "1", "app.kubernetes.io/name": "z"}, 1),
    ],
)
def test_selectors_select(selector: str | None, labels: dict[str, str], selected: bool) -> None:
    assert label_matcher(selector)(labels) is bool(selected)


@pytest.mark.parametrize("selector", ["a b", "=x", "!", "a in 1"])
def test_what_is_not_understood_is_refused(selector: str) -> None:
    with pytest.raises(ValueError, match="cannot parse the label selector"):
        label_matcher(selector)
