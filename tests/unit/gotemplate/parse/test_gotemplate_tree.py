"""The tree of a template, which tools walk to see what a template uses."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate import Environment, TemplateError, nodes, parse_tree

ENVIRONMENT = Environment()


def tree(text: str) -> nodes.Tree:
    return ENVIRONMENT.parse("t", text).tree


def test_the_tree_names_fields_variables_and_functions() -> None:
    root = tree("{{ $x := .Params.A | default .Name }}{{ $x.b }}").root

    assign, use = root.nodes
    assert isinstance(assign, nodes.Action)
    assert assign.pipe.declared == (nodes.Variable(3, "$x"),)
    assert not assign.pipe.is_assign
    first, second = assign.pipe.commands
    assert first.args == (nodes.Field(16, ("Params", "A")),)
    assert second.args == (nodes.Identifier(21, "default"), nodes.Field(29, ("Name",)))
    assert isinstance(use, nodes.Action)
    assert use.pipe.commands[0].args == (nodes.Variable(42, "$x", ("b",)),)


def test_else_if_is_an_if_alone_in_the_else_branch() -> None:
    (block,) = tree("{{ if .a }}1{{ else if .b }}2{{ else }}3{{ end }}").root.nodes

    assert isinstance(block, nodes.If)
    assert block.otherwise is not None
    (inner,) = block.otherwise.nodes
    assert isinstance(inner, nodes.If)
    assert inner.otherwise == nodes.Body((nodes.Text(39, "3"),))


def test_defined_templates_stand_beside_the_root() -> None:
    found = tree('{{ define "a" }}x{{ end }}{{ block "b" . }}y{{ end }}')

    assert set(found.templates) == {"t", "a", "b"}
    assert found.templates["a"] == nodes.Body((nodes.Text(16, "x"),))
    assert [type(node) for node in found.root.nodes] == [nodes.Template]


def test_parsing_alone_gives_the_tree_of_the_compiled_template() -> None:
    text = "{{ if .a }}{{ .b | quote }}{{ end }}"

    assert parse_tree("t", text, ENVIRONMENT.function_names) == tree(text)
    with pytest.raises(TemplateError, match='function "quote" not defined'):
        parse_tree("t", text, ())


def test_errors_are_on_the_line_of_the_last_token_that_was_read(subtests: pytest.Subtests) -> None:
    table = [
        ("\n{{ $x }}", ':2: undefined variable "$x"'),
        ("\n{{ $x\n}}", ':3: undefined variable "$x"'),
        ("\n{{ $x.a\n}}", ':2: undefined variable "$x"'),
        ("\n{{ end }}", ":2: unexpected {{end}}"),
        ("\n{{ end\n}}", ":3: unexpected {{end}}"),
        ("\n{{ if .a }}{{ else }}\n", ":3: unexpected EOF"),
        ("\n{{ end .a.b }}", ':2: unexpected ".a" in end'),
        ("{{ if .a }}{{ .b }}\n{{/* ", ":2: unclosed comment"),
    ]
    for text, message in table:
        with subtests.test(text=text, message=message):
            with pytest.raises(TemplateError) as caught:
                tree(text)

            assert str(caught.value) == f"template: t{message}"


def test_nodes_cannot_be_changed() -> None:
    node = tree("x").root.nodes[0]

    with pytest.raises(dataclasses.FrozenInstanceError):
        node.pos = 3  # type: ignore[misc]
    assert not hasattr(node, "__dict__")


def test_places_are_counted_in_bytes_as_in_go() -> None:
    found = tree("ä\nöü{{ 1 }}")

    assert found.place(0) == (1, 0)
    assert found.place(1) == (1, 2)
    assert found.place(4) == (2, 4)


def test_a_tree_is_spelled_as_go_spells_it() -> None:
    table: list[str] = [
        "text",
        "{{.a.b}}",
        "{{$x := .a}}{{$x = 1}}{{$x.y}}",
        '{{printf "%d" (len .a) | print nil true false . $}}',
        "{{(f .a).b.c}}".replace("f ", "index "),
        "{{if .a}}x{{else}}y{{end}}",
        "{{range $i, $e := .a}}{{break}}{{continue}}{{else}}z{{end}}",
        "{{with .a}}{{.}}{{end}}",
        '{{template "x" .a}}{{template "y"}}',
        "{{1.50}}{{0x1F}}{{'a'}}{{`raw`}}",
    ]
    for text in table:
        assert str(tree(text).root) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "{{ .a }}",
                "{{ if .b }}",
                "{{ else }}",
                "{{ end }}",
                "{{ range $x := .c }}",
                "{{ $x }}",
            ]
        ),
        max_size=12,
    )
)
def test_spelling_and_parsing_again_gives_the_same_spelling(pieces: list[str]) -> None:
    try:
        first = str(tree("".join(pieces)).root)
    except TemplateError:
        return
    assert str(tree(first).root) == first
