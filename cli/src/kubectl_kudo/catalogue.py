"""The commands in the order of the help: the module of each, and the first sentence of its help."""

from kubectl_kudo.core.command import Entry, Group

_PLAN = Group(
    "plan",
    "Show, run, retry and cancel the plans of an instance.",
    {
        "status": Entry(
            "plans.status",
            "Show the plan of an instance that runs or ran last, and what it waits for.",
        ),
        "history": Entry(
            "plans.history",
            "Show the last runs: how long each took, how it ended, and who or what asked for it.",
        ),
        "trigger": Entry("plans.trigger", "Run a plan of an instance, or restart the running one."),
        "retry": Entry(
            "plans.retry", "Go on with a plan that failed: finished steps stay finished."
        ),
        "wait": Entry("plans.wait", "Wait until the running plan of an instance has ended."),
        "cancel": Entry("plans.cancel", "End the running plan of an instance with FATAL_ERROR."),
    },
)
_PACKAGE_ADD = Group(
    "package add",
    "Add to a package, and keep how it is written.",
    {
        "task": Entry("authoring.adding.task", "Add a task to a package."),
        "plan": Entry("authoring.adding.plan", "Add a plan to a package."),
        "parameter": Entry("authoring.adding.parameter", "Add a parameter to a package."),
        "maintainer": Entry("authoring.adding.maintainer", "Add a maintainer to a package."),
        "template": Entry("authoring.adding.template", "Add a template to a package."),
    },
)
_PACKAGE_LIST = Group(
    "package list",
    "List what a package contains.",
    {
        "tasks": Entry("authoring.listing.tasks", "List the tasks of a package."),
        "plans": Entry(
            "authoring.listing.plans", "List the plans of a package with their phases and steps."
        ),
        "parameters": Entry("authoring.listing.parameters", "List the parameters of a package."),
        "params": Entry(
            "authoring.listing.params",
            "List the parameters of a package, like `package list parameters`.",
        ),
    },
)
_PACKAGE = Group(
    "package",
    "Write, check and archive packages; no cluster is needed.",
    {
        "new": Entry("authoring.new", "Write a first working package."),
        "add": _PACKAGE_ADD,
        "render": Entry(
            "authoring.render",
            "Print the objects that a plan would apply; no cluster is contacted.",
        ),
        "docs": Entry("authoring.docs", "Print the reference of a package in Markdown."),
        "create": Entry("authoring.create", "Write the archive of a package."),
        "list": _PACKAGE_LIST,
        "verify": Entry("packages.verify", "Check a package; no cluster is contacted."),
    },
)
_REPO = Group(
    "repo",
    "Manage the repositories that packages are installed from.",
    {
        "add": Entry("repositories.add", "Add a repository, after reading its index."),
        "list": Entry(
            "repositories.list",
            "List the repositories; the one that commands use by default has a *.",
        ),
        "remove": Entry("repositories.remove", "Remove repositories from the list."),
        "context": Entry(
            "repositories.context", "Choose the repository that commands use by default."
        ),
        "index": Entry(
            "repositories.index",
            "Write the index of the packages in a folder, which makes it a repository.",
        ),
        "serve": Entry(
            "repositories.serve", "Serve the packages of a folder as a repository, until ctrl-C."
        ),
    },
    {"rm": "remove"},
)
_DIAGNOSTICS = Group(
    "diagnostics",
    "Collect what a bug report needs.",
    {
        "collect": Entry(
            "diagnostics.collect", "Collect what a bug report needs, without secrets."
        ),
    },
)
ROOT = Group(
    "",
    "Install operators as KUDO packages, and run the plans of their instances.",
    {
        "init": Entry(
            "init.init", "Install KUDO in the cluster: its CRDs, its webhook and its reconciler."
        ),
        "install": Entry("instances.install", "Install an operator, and create an instance of it."),
        "update": Entry(
            "instances.update", "Change parameters of an instance; the plan that they trigger runs."
        ),
        "upgrade": Entry(
            "instances.upgrade", "Upgrade an instance to the version of its operator in a package."
        ),
        "uninstall": Entry(
            "instances.uninstall",
            "Delete an instance and what it created; its cleanup plan runs first, if it has one.",
        ),
        "suspend": Entry(
            "control.suspend",
            "Pause an instance: what was sent is observed, nothing more is sent "
            "until it is resumed.",
        ),
        "resume": Entry(
            "control.resume",
            "End the pause of an instance: a plan that was held up goes on, one "
            "that waited begins.",
        ),
        "adopt": Entry(
            "control.adopt",
            "Record what an instance owns, in its Inventory; nothing else is changed.",
        ),
        "prune": Entry(
            "control.prune",
            "Delete the orphans of an instance: objects that its plans applied and "
            "no task applies now.",
        ),
        "get": Entry(
            "get.get",
            "List the instances, operators or operatorversions, or what an instance owns.",
        ),
        "describe": Entry(
            "get.describe",
            "Show one instance: parameters, plans, children, objects and recent events.",
        ),
        "why": Entry(
            "diagnostics.why",
            "Tell why instances are not ready: the cause first, then the next command to run.",
        ),
        "rbac": Entry(
            "rbac.rbac",
            "Print or check the rights that plans need from the service account that they act as.",
        ),
        "plan": _PLAN,
        "package": _PACKAGE,
        "test": Entry(
            "testing.test",
            "Run test suites: folders of steps such as 00-install.yaml and 00-assert.yaml.",
        ),
        "repo": _REPO,
        "search": Entry(
            "repositories.search", "List the packages of a repository whose name contains a text."
        ),
        "diagnostics": _DIAGNOSTICS,
        "completion": Entry(
            "shell.completion", "Print a script with which a shell completes command lines."
        ),
        "version": Entry("version", "Print the version of this plugin; no cluster is contacted."),
    },
)
