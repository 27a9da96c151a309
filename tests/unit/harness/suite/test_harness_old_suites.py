"""A suite in the style of KUDO 0.19's time is read unchanged, without a warning."""

from pathlib import Path

from kudo_harness.suite import SuiteRequest, load_suite
from tests.unit.harness.suite.writing import write

SUITE = """
apiVersion: kudo.dev/v1alpha1
kind: TestSuite
startKIND: true
kindNodeCache: true
kindContainers:
  - kudobuilder/controller:latest
crdDir: crds/
manifestDirs:
  - manifests/
testDirs:
  - ./repository
timeout: 300
parallel: 4
artifactsDir: kind-logs
commands:
  - command: kubectl kudo init --unsafe-self-signed-webhook-ca --wait
  - command: ./bin/manager
    background: true
"""
INSTALL = """
apiVersion: kudo.dev/v1beta1
kind: TestStep
commands:
  - command: kubectl kudo install --instance zookeeper ../../operator
    namespaced: true
"""
COMPLETE = """
apiVersion: kudo.dev/v1beta1
kind: TestAssert
timeout: 600
---
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata:
  name: zookeeper
status:
  planStatus:
    deploy:
      status: COMPLETE
  conditions:
    - type: Ready
      status: "True"
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: zookeeper-zookeeper
status:
  readyReplicas: 3
"""
SCALE = """
apiVersion: kudo.dev/v1alpha1
kind: TestStep
delete:
  - apiVersion: v1
    kind: Pod
    labels:
      app: client
commands:
  - command: kubectl kudo update --instance zookeeper -p NODE_COUNT=5 -P params.yaml
    namespaced: true
  - script: ./check.sh "$NAMESPACE"
"""
PODS = """
apiVersion: v1
kind: Pod
metadata:
  labels:
    app: zookeeper
status:
  phase: Failed
"""
TEAR_DOWN = """
apiVersion: kudo.dev/v1beta1
kind: TestStep
metadata:
  name: uninstall
commands:
  - command: kubectl kudo uninstall --instance zookeeper
    namespaced: true
    ignoreFailure: true
"""


def test_it_is_read_with_all_its_steps(tmp_path: Path) -> None:
    cases = {
        f"repository/{case}/{name}": text
        for case in ("zookeeper-install", "zookeeper-upgrade")
        for name, text in {
            "00-install.yaml": INSTALL,
            "00-assert.yaml": COMPLETE,
            "01-scale.yaml": SCALE,
            "01-assert.yaml": COMPLETE,
            "01-errors.yaml": PODS,
            "02-uninstall/00-step.yaml": TEAR_DOWN,
            "02-uninstall/errors.yaml": COMPLETE.partition("---\n")[2],
            "params.yaml": "NODE_COUNT: 5\n",
            "check.sh": "true\n",
            "README.md": "# case\n",
        }.items()
    }
    write(tmp_path, {"kudo-test.yaml": SUITE, **cases})
    request = SuiteRequest(
        config=tmp_path / "kudo-test.yaml", test_dirs=(str(tmp_path / "repository"),)
    )
    suite = load_suite(request)
    assert suite.warnings == ()
    assert suite.options.start_kind is not None
    assert suite.options.start_kind.line == 3
    assert [command.place.line for command in suite.options.commands] == [16, 17]
    (folder,) = suite.test_dirs
    assert [case.name for case in folder.cases] == ["zookeeper-install", "zookeeper-upgrade"]
    for case in folder.cases:
        assert [step.title for step in case.steps] == ["0-install", "1-scale", "2-uninstall"]
        assert [len(step.objects.asserts) for step in case.steps] == [2, 2, 0]
        assert [len(step.objects.errors) for step in case.steps] == [0, 1, 2]
        assert [bool(step.assert_options) for step in case.steps] == [True, True, False]
