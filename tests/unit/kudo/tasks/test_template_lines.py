"""The line of a template that a rendered line comes from."""

from kudo.tasks.rendering import render
from kudo.tasks.template_lines import template_line

VALUES = {
    "Params": {"ON": "true", "OFF": "", "LIST": ["a", "b"], "MAP": {"x": "1", "y": "2"}},
    "Name": "tea",
}


def lines(text: str) -> list[tuple[str, int | None]]:
    """Return each rendered line with the line of the template."""
    rendered = render("t", text, VALUES).split("\n")
    return [
        (line, template_line("t", text, VALUES, number)) for number, line in enumerate(rendered, 1)
    ]


def test_each_line_has_its_origin() -> None:
    table: list[tuple[str, list[tuple[str, int | None]]]] = [
        ("a\nb", [("a", 1), ("b", 2)]),
        ("", [("", 1)]),
        ("{{ .Name }}: {{ .Name }}\nb", [("tea: tea", 1), ("b", 2)]),
        (
            "a\n{{- if .Params.ON }}\nb\n{{- else }}\nc\n{{- end }}\nd",
            [("a", 1), ("b", 3), ("d", 7)],
        ),
        ("a\n{{ if .Params.OFF -}}\nb\n{{ else -}}\nc\n{{ end }}", [("a", 1), ("c", 5), ("", 6)]),
        (
            "{{ range .Params.LIST }}\n- {{ . }}\n{{- end }}\nz",
            [("", 1), ("- a", 2), ("- b", 2), ("z", 4)],
        ),
        (
            "m:\n  {{ toYaml .Params.MAP | nindent 2 }}\nz",
            # toYaml ends with a line break.
            [("m:", 1), ("  ", 2), ('  x: "1"', 2), ('  "y": "2"', 2), ("  ", 2), ("z", 3)],
        ),
        (
            '{{ define "d" }}\nb{{ end }}a\n{{ template "d" }}\nz',
            [("a", 2), ("", 1), ("b", 2), ("z", 4)],
        ),
        ("{{ with .Name }}\n{{ . }}\n{{ end }}z", [("", 1), ("tea", 2), ("z", 3)]),
        ("{{/* a\nb */ -}}\n\n\nc\n", [("c", 5), ("", 6)]),
        ("é\r\n{{ .Name }}\r\nz", [("é\r", 1), ("tea\r", 2), ("z", 3)]),
    ]
    for text, expected in table:
        assert lines(text) == expected


def test_what_cannot_be_found_is_none() -> None:
    assert template_line("t", "a", VALUES, 2) is None
    assert template_line("t", "a", VALUES, 0) is None
    assert template_line("t", "a\ue0f0", VALUES, 1) is None
    assert template_line("t", "{{ .Missing }}", VALUES, 1) is None
    assert template_line("t", "{{", VALUES, 1) is None
