"""The commands there are, in the order in which the help shows them, and what the help says."""

from kubectl_kudo.core.arguments import (
    DRY_RUN,
    INSTANCE,
    OUTPUT,
    PARAMETERS,
    WAIT,
    WAIT_TIME,
    WRITTEN,
    Flag,
    seconds,
)
from kubectl_kudo.core.command import Command, Group

_WAITING = (
    "With --wait the progress is shown on stderr: as a tree on a terminal, as lines otherwise. "
    "The\ncommand then fails as soon as the plan does, and says in which step and why."
)
_TRYING = (
    "With --dry-run nothing is changed: the command says what would be changed and which plan\n"
    "would run, or fails with the reason for which it would be denied."
)

INIT = Command(
    "init",
    "Install KUDO in the cluster: its CRDs, its webhook and its reconciler.",
    "init.dispatch",
    flags=(
        Flag(("--client-only", "-c"), "accepted for old scripts; does nothing", default=False),
        Flag(("--crd-only",), "install the CRDs alone", default=False),
        Flag(("--dry-run",), "ask no cluster; say what would be applied", default=False),
        Flag(OUTPUT.names, "yaml or json: print the manifests, too", OUTPUT.value),
        Flag(
            ("--kudo-image", "-i"),
            "image of webhook or reconciler; may be repeated",
            "service=reference",
            repeat=True,
        ),
        Flag(("--version",), "tag of both images (default: version of this plugin)", "tag"),
        Flag(("--image-registry",), "what stands before the names of the images", "registry"),
        Flag(
            ("--kudo-image-pull-policy",),
            "Always, IfNotPresent or Never (default: IfNotPresent)",
            "policy",
            "IfNotPresent",
        ),
        Flag(
            ("--service-account",),
            "existing account for the reconciler (default: one is made)",
            "name",
            "kudo-reconciler",
        ),
        Flag(
            ("--unsafe-self-signed-webhook-ca",),
            "the webhook makes and renews its certificate; cert-manager is not needed",
            default=False,
        ),
        Flag(("--wait", "-w"), "wait until KUDO works", default=False),
        Flag(
            ("--wait-timeout",),
            "how long to wait, in seconds or as 5m (default: 300s)",
            "time",
            0,
            convert=seconds,
        ),
        Flag(("--upgrade",), "change what is installed to this version", default=False),
        Flag(("--verify",), "change nothing; check what is installed", default=False),
        Flag(("--take-over",), "replace KUDO 0.19, keeping all Instances", default=False),
        Flag(("--uninstall",), "remove KUDO; the CRDs and their objects stay", default=False),
        Flag(
            ("--delete-crds",),
            "with --uninstall: remove the CRDs and all objects, too",
            default=False,
        ),
        Flag(("--yes",), "with --uninstall: ask nobody", default=False),
    ),
    more="The namespace is kudo-system; another one must exist. The command can be repeated: it "
    "applies what\nis missing or differs. Without --unsafe-self-signed-webhook-ca, cert-manager "
    "provides the webhook's\ncertificate.\n\nWith --wait the command ends when the API server asks "
    "the webhook and the reconciler works. With\n--take-over it waits for that in any case: until "
    "then the webhook of KUDO 0.19 stays.",
    examples=(
        (
            "Install without cert-manager, and wait until it works",
            "init --unsafe-self-signed-webhook-ca --wait",
        ),
        ("The manifests, for GitOps; no cluster is asked", "init --dry-run -o yaml"),
        (
            "Images from a registry of your own",
            "init --image-registry registry.example.com/kudo --wait",
        ),
        ("Upgrade to the version of this plugin", "init --upgrade --wait"),
        ("Is everything as it should be?", "init --verify"),
        ("Replace KUDO 0.19", "init --take-over"),
        ("Remove it; the CRDs and all Instances stay", "init --uninstall"),
    ),
)
INSTALL = Command(
    "install",
    "Install an operator from a folder or a .tgz file, and create an instance of it.",
    "instances.install_package",
    "<folder|tgz>",
    (
        Flag(("--instance",), "name of the instance (default: <operator>-instance)", "name"),
        *PARAMETERS,
        WAIT,
        WAIT_TIME,
        Flag(("--skip-instance",), "create no instance, only make it possible", default=False),
        DRY_RUN,
        WRITTEN,
    ),
    more="Everything is checked before anything is created. What was installed before and is the "
    "same\nis left alone, so that the command can be repeated. Packages that it depends on "
    "(KudoOperator\ntasks that name a folder or a .tgz file) are installed with it.\n\n"
    + _WAITING
    + "\n\n"
    + _TRYING,
    examples=(
        ("Install a package from a folder and wait until it is deployed", "install ./web --wait"),
        (
            "A second instance with other values, in another namespace",
            "install ./web --instance shop -p replicas=3 -n shop",
        ),
        ("What would be created, as YAML", "install ./web --dry-run=client -o yaml"),
    ),
)
UPDATE = Command(
    "update",
    "Change parameters of an instance; the plan that they trigger runs.",
    "instances.update_parameters",
    flags=(INSTANCE, *PARAMETERS, WAIT, WAIT_TIME, DRY_RUN, WRITTEN),
    more="Parameters that are not named keep their values.\n\n" + _WAITING + "\n\n" + _TRYING,
    examples=(
        (
            "Change one parameter and wait for the plan",
            "update --instance web -p replicas=3 --wait",
        ),
        ("Take the values from a file", "update --instance web -P values.yaml"),
        ("Which plan would run?", "update --instance web -p replicas=3 --dry-run=client"),
    ),
)
UPGRADE = Command(
    "upgrade",
    "Upgrade an instance to the version of its operator that a package holds.",
    "instances.upgrade_instance",
    "<folder|tgz>",
    (INSTANCE, *PARAMETERS, WAIT, WAIT_TIME, DRY_RUN, WRITTEN),
    more="The package must be of the same operator and newer, by operatorVersion or appVersion. "
    "Everything\nis checked before anything is changed. Parameters keep their values.\n\n"
    "Parameters that run a plan of their own can be set only after the upgrade: with --wait that "
    "is\ndone, without it the command says what to do.\n\n" + _WAITING + "\n\n" + _TRYING,
    examples=(
        ("Upgrade to a newer version and wait for its plan", "upgrade ./web --instance web --wait"),
        (
            "Set a parameter that is new in that version",
            "upgrade ./web-0.2.0.tgz --instance web -p cacheSize=64",
        ),
    ),
)
UNINSTALL = Command(
    "uninstall",
    "Delete an instance and what it created; its cleanup plan runs first, if it has one.",
    "instances.delete_instance",
    flags=(INSTANCE, WAIT, WAIT_TIME, DRY_RUN),
    required=("instance",),
    more="Instances that its plans created (KudoOperator tasks) go with it. The operator and its "
    "versions\nstay, for other instances.",
    examples=(("Delete an instance and wait until it is gone", "uninstall --instance web --wait"),),
)
GET = Command(
    "get",
    "List the instances, operators or operatorversions of a namespace.",
    "instances.list_objects",
    "<instances|operators|operatorversions|all>",
    (OUTPUT,),
    examples=(
        ("Instances below their versions and operators", "get all"),
        ("Instances as JSON", "get instances -o json"),
    ),
)
PLAN_STATUS = Command(
    "plan status",
    "Show the plans of an instance, and how far the last one came.",
    "plans.show_status",
    flags=(INSTANCE, WAIT, OUTPUT),
    required=("instance",),
    more="With --wait the command ends when the plan does: well on COMPLETE, with an error on "
    "FATAL_ERROR.\nWith -o it prints the status of the instance as data.",
    examples=(
        ("Watch the plan until it ends", "plan status --instance web --wait"),
        ("The status as YAML", "plan status --instance web -o yaml"),
    ),
)
PLAN_TRIGGER = Command(
    "plan trigger",
    "Run a plan of an instance, or start the running one again.",
    "plans.trigger_plan",
    flags=(
        INSTANCE,
        Flag(("--name",), "name of the plan", "plan"),
        *(WAIT, WAIT_TIME, DRY_RUN, WRITTEN),
    ),
    more="Another plan cannot be run while one is running.\n\n" + _WAITING + "\n\n" + _TRYING,
    examples=(
        ("Run the plan `backup`", "plan trigger --instance web --name backup"),
        ("Run it and wait for its end", "plan trigger --instance web --name backup --wait"),
    ),
)
PLAN_HISTORY = Command(
    "plan history",
    "Show how and when the last run of each plan ended.",
    "plans.show_history",
    flags=(INSTANCE, OUTPUT),
    more="The cluster keeps the last run of each plan. With -o it is printed as data.",
    examples=(
        ("The last run of each plan", "plan history --instance web"),
        ("With phases, steps and messages", "plan history --instance web -o yaml"),
    ),
)
PLAN_CANCEL = Command(
    "plan cancel",
    "End the running plan of an instance with FATAL_ERROR.",
    "plans.cancel_plan",
    flags=(INSTANCE, WAIT, WAIT_TIME, DRY_RUN, WRITTEN),
    required=("instance",),
    more="What the plan has done so far stays. Only the run that the command sees is cancelled, "
    "never one\nthat starts meanwhile. With --wait the command ends when the run has.",
    examples=(
        ("Cancel a plan that is stuck", "plan cancel --instance web"),
        ("Cancel it, and wait until another plan can run", "plan cancel --instance web --wait"),
    ),
)
PLAN_WAIT = Command(
    "plan wait",
    "Wait until the running plan of an instance has ended.",
    "plans.wait_for_plan",
    flags=(INSTANCE, WAIT_TIME),
    required=("instance",),
    more="The command ends well on COMPLETE and with an error on FATAL_ERROR, naming the step. "
    "Where no\nplan is running, it judges the last one at once.",
    examples=(
        ("Wait for what `kubectl apply` has started", "plan wait --instance web"),
        ("Wait for ten minutes at most", "plan wait --instance web --wait-time 10m"),
    ),
)
PACKAGE_VERIFY = Command(
    "package verify",
    "Check a package; no cluster is asked.",
    "packages.verify_package",
    "<folder|tgz>",
    (Flag(OUTPUT.names, "yaml or json: what was found, as data", OUTPUT.value),),
    more="Errors keep a package from being installed or its plans from running; warnings do not. "
    "Templates\nare rendered with the defaults of the parameters. With errors the command fails.",
    examples=(
        ("Check the package in a folder", "package verify ./web"),
        ("For tools: errors, warnings and valid", "package verify ./web -o json"),
    ),
)
VERSION = Command(
    "version",
    "Print the version of this plugin; no cluster is asked.",
    "version",
    flags=(OUTPUT,),
    examples=(("As JSON", "version -o json"),),
)

ROOT = Group(
    "",
    "Install operators as KUDO packages, and run the plans of their instances.",
    {
        "init": INIT,
        "install": INSTALL,
        "update": UPDATE,
        "upgrade": UPGRADE,
        "uninstall": UNINSTALL,
        "get": GET,
        "plan": Group(
            "plan",
            "See and run the plans of an instance.",
            {
                "status": PLAN_STATUS,
                "history": PLAN_HISTORY,
                "trigger": PLAN_TRIGGER,
                "wait": PLAN_WAIT,
                "cancel": PLAN_CANCEL,
            },
        ),
        "package": Group(
            "package",
            "Work on packages before they are installed.",
            {"verify": PACKAGE_VERIFY},
        ),
        "version": VERSION,
    },
)
