"""What to do about an object that the API server refused. The texts are Kubernetes 1.36's."""

import pytest

from kudo.objects.api_errors import advice

Cause = tuple[str, str]
Refused = tuple[str, int, str, list[Cause]]

STATEFUL_SET = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)
POD = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)\n@@ -93,7 +93,9 @@\n"
)
CLAIM = (
    "Forbidden: spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims\n@@ -1,6 +1,6 @@\n"
)
NAME = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
TYPED = "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
CONVERT = (
    "failed to convert new object (default/d; apps/v1, Kind=Deployment) to proper version: "
    "unable to convert unstructured object to apps/v1, Kind=Deployment: "
)


def invalid(kind: str, *causes: Cause) -> Refused:
    told = ", ".join(f"{field}: {text}" for field, text in causes)
    return kind, 422, f'{kind} "x" is invalid: {told}', list(causes)


def fixed(field: str, kind: str) -> str:
    return f"{field} cannot be changed on an existing object: {DELETE.format(kind)}"


def failed(kind: str, message: str) -> Refused:
    return kind, 500, message, []


DELETE = "delete the {} in an earlier step (a Delete task) or give it another name"

CASES: dict[str, tuple[Refused, str]] = {
    "the template of a Job": (
        # The server quotes the whole pod between the two parts.
        invalid(
            "Job",
            ("spec.template.spec", 'Invalid value: {"Volumes":null}: field is immutable'),
        ),
        fixed("spec.template.spec", "Job"),
    ),
    "two fields": (
        invalid(
            "Job",
            ("spec.completions", "Invalid value: 3: field is immutable"),
            ("spec.selector", 'Invalid value: {"a":"b"}: `selector` not auto-generated'),
            ("spec.selector", 'Invalid value: {"a":"b"}: field is immutable'),
        ),
        (
            "spec.completions, spec.selector cannot be changed on an existing object: "
            f"{DELETE.format('Job')}"
        ),
    ),
    "the selector of a Deployment": (
        invalid(
            "Deployment",
            ("spec.selector", 'Invalid value: {"matchLabels":{"b":"1"}}: field is immutable'),
        ),
        fixed("spec.selector", "Deployment"),
    ),
    "the clusterIP of a Service": (
        invalid(
            "Service",
            ("spec.clusterIPs[0]", 'Invalid value: ["10.96.5.5"]: may not change once set'),
        ),
        fixed("spec.clusterIPs[0]", "Service"),
    ),
    "the role of a RoleBinding": (
        invalid(
            "RoleBinding",
            (
                "roleRef",
                (
                    'Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole",'
                    '"Name":"edit"}: cannot change roleRef'
                ),
            ),
        ),
        fixed("roleRef", "RoleBinding"),
    ),
    "the value of a PriorityClass": (
        invalid("PriorityClass", ("value", "Forbidden: may not be changed in an update.")),
        fixed("value", "PriorityClass"),
    ),
    "a rule of a custom resource": (
        invalid("Thing", ("spec.fixed", 'Invalid value: "b": fixed is immutable')),
        fixed("spec.fixed", "Thing"),
    ),
    "an immutable ConfigMap": (
        invalid("ConfigMap", ("data", "Forbidden: field is immutable when `immutable` is set")),
        (
            f"data cannot be changed on an existing object: {DELETE.format('ConfigMap')}, such as "
            "one with a hash of its content"
        ),
    ),
    "a StatefulSet": (
        invalid("StatefulSet", ("spec", f"Forbidden: {STATEFUL_SET}")),
        (
            "the other fields cannot be changed on an existing StatefulSet: "
            f"{DELETE.format('StatefulSet')}; its PersistentVolumeClaims stay when it is deleted"
        ),
    ),
    "a Pod": (
        invalid("Pod", ("spec", POD)),
        f"the other fields cannot be changed on an existing Pod: {DELETE.format('Pod')}",
    ),
    "the containers of a Pod": (
        invalid(
            "Pod",
            ("spec.containers", "Forbidden: pod updates may not add or remove containers"),
        ),
        fixed("spec.containers", "Pod"),
    ),
    "a claim": (
        invalid("PersistentVolumeClaim", ("spec", CLAIM)),
        (
            "spec cannot be changed on an existing object: keep them as they are, or use a claim "
            "of another name; deleting this one gives up its data"
        ),
    ),
    "a volume": (
        invalid(
            "PersistentVolume",
            (
                "spec.persistentvolumesource",
                "Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7 +2,7",
            ),
        ),
        (
            "spec.persistentvolumesource cannot be changed on an existing object: keep them as "
            "they are, or use a volume of another name"
        ),
    ),
    "a number for a text": (
        failed(
            "Deployment",
            f'{TYPED}.spec.template.spec.containers[name="main"].env[name="A"].value: expected '
            "string, got &value.valueUnstructured{Value:5}",
        ),
        (
            'spec.template.spec.containers[name="main"].env[name="A"].value must be text: put '
            "quotes "
            "around the value in the template"
        ),
    ),
    "a text for a number": (
        failed("Deployment", f"{TYPED}.spec.replicas: expected numeric (int or float), got string"),
        "spec.replicas must be a number: leave out quotes around the value in the template",
    ),
    "two wrong types": (
        failed(
            "Thing",
            "failed to create typed patch object (default/t; x.example.org/v1, Kind=Thing): "
            "errors:\n  .spec.paused: expected boolean, got &{true}\n  .spec.size: expected "
            "numeric (int or float), got string",
        ),
        "spec.paused must be true or false, without quotes in the template",
    ),
    "a mapping for a list": (
        failed(
            "Deployment",
            f"{TYPED}.spec.template.spec.containers: expected list, got &{{map[name:a]}}",
        ),
        (
            "spec.template.spec.containers must be a list: check dashes and indentation in the "
            "template"
        ),
    ),
    "a list for a mapping": (
        failed("Deployment", f"{TYPED}.spec.template.metadata.labels: expected map, got &{{[a]}}"),
        (
            "spec.template.metadata.labels must be a mapping: check dashes and indentation in "
            "the template"
        ),
    ),
    "a quantity that is none": (
        failed("Deployment", f"{CONVERT}quantities must match the regular expression '...'"),
        "write quantities such as 500m, 2 or 10Gi",
    ),
    "a fraction": (
        failed("Deployment", f"{CONVERT}cannot convert float64 to int32"),
        "a value has the wrong type: `kubectl explain` shows the fields of the kind",
    ),
}

WITHOUT: dict[str, Refused] = {
    "a large ConfigMap": invalid(
        "ConfigMap", ("[]", "Too long: may not be more than 1048576 bytes")
    ),
    "a bad name": invalid("ConfigMap", ("metadata.name", f'Invalid value: "Not A Name": {NAME}')),
    "a value out of range": invalid(
        "Thing", ("spec.size", "Invalid value: 0: spec.size in body should be greater than 1")
    ),
    "a missing value": invalid("Deployment", ("spec.template.spec.containers", "Required value")),
    "a bad name further inside": invalid(
        "Deployment", ("spec.template.spec.containers[0].name", f'Invalid value: "A B": {NAME}')
    ),
    "a denial that quotes": (
        "ConfigMap",
        403,
        'admission webhook "wh" denied the request: field is immutable',
        [],
    ),
    "an unknown field": failed("Deployment", f"{TYPED}.spec.bogus: field not declared in schema"),
    "a slow etcd": failed("ConfigMap", "etcdserver: request timed out"),
    "nothing": ("ConfigMap", 502, "", []),
}


def test_the_advice_names_the_field_and_what_to_do(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case=case):
            refused, expected = CASES[case]

            assert advice(*refused) == expected


def test_where_the_server_says_it_all_there_is_no_advice() -> None:
    for case in WITHOUT:
        assert advice(*WITHOUT[case]) == ""


def test_the_advice_stays_short_whatever_the_fields_are() -> None:
    causes = [(f"spec.{number}.{'x' * 10_000}", "field is immutable") for number in range(1000)]

    told = advice("Thing", 422, "Thing is invalid", causes)

    assert len(told) < 1000
    assert ", ... cannot be changed" in told
