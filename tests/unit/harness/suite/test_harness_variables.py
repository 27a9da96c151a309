from kudo_harness.suite.words import expand

VARIABLES = {"NAMESPACE": "ns", "A_1": "one", "1": "first", "a b": "spaced"}


def test_variables_are_replaced_as_in_go() -> None:
    table = {
        "": "",
        "kubectl get pods -n $NAMESPACE": "kubectl get pods -n ns",
        "${NAMESPACE}-x": "ns-x",
        "$NAMESPACEx": "",
        "$A_1.$A_1": "one.one",
        "$MISSING-": "-",
        "$$": "$",
        "$$NAMESPACE": "$NAMESPACE",
        "${$}": "$",
        "$1x": "firstx",
        "${a b}": "spaced",
        "${}": "",
        "${x": "x",
        "a $ b": "a $ b",
        "a $": "a $",
        "$?": "",
        "$.x": "$.x",
        "{NAMESPACE}": "{NAMESPACE}",
    }
    assert {text: expand(text, VARIABLES) for text in table} == table
