"""Warning headers: parsed, deduplicated, bounded."""

from kubeio.connection.round_tripper import WarningSink, parse_warnings


def test_texts_are_unquoted() -> None:
    header = '299 - "unknown field \\"spec.x\\"", 299 kube "v1 is deprecated, use v2"'
    assert parse_warnings(header) == ['unknown field "spec.x"', "v1 is deprecated, use v2"]


def test_other_codes_and_malformed_headers_are_ignored() -> None:
    assert parse_warnings('110 proxy "stale"') == []
    assert parse_warnings("299 - unquoted") == []


def test_each_text_is_handed_on_once() -> None:
    heard: list[str] = []
    sink = WarningSink()
    sink.handler = heard.append
    sink.collect(['299 - "a"', '299 - "b"', '299 - "a"'])
    sink.collect(['299 - "a"'])
    assert heard == ["a", "b"]


def test_without_a_handler_nothing_is_remembered() -> None:
    heard: list[str] = []
    sink = WarningSink()
    sink.collect(['299 - "a"'])
    sink.handler = heard.append
    sink.collect(['299 - "a"'])
    assert heard == ["a"]


def test_memory_is_bounded_and_the_oldest_text_is_heard_again() -> None:
    heard: list[str] = []
    sink = WarningSink()
    sink.handler = heard.append
    sink.collect(f'299 - "{number}"' for number in range(1001))
    sink.collect(['299 - "0"', '299 - "1000"'])
    assert len(heard) == 1002
    assert heard[-1] == "0"
