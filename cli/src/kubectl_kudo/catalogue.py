"""The commands in the order of the help: the module of each, and the first sentence of its help."""

from kubectl_kudo.session.command import Entry, Group

_PLAN = Group(
    "plan",
    "Show, run, retry and cancel the plans of an instance.",
    {
        "status": Entry(
            "commands.plan.status",
            "Show the plan of an instance that runs or ran last, and what it waits for.",
        ),
        "history": Entry(
            "commands.plan.history",
            "Show the last runs: how long each took, how it ended, and who or what asked for it.",
        ),
        "trigger": Entry(
            "commands.plan.trigger", "Run a plan of an instance, or restart the running one."
        ),
        "retry": Entry(
            "commands.plan.retry", "Go on with a plan that failed: finished steps stay finished."
        ),
        "wait": Entry(
            "commands.plan.wait", "Wait until the running plan of an instance has ended."
        ),
        "cancel": Entry(
            "commands.plan.cancel", "End the running plan of an instance with FATAL_ERROR."
        ),
    },
)
_PACKAGE_ADD = Group(
    "package add",
    "Add to a package, and keep how it is written.",
    {
        "task": Entry("commands.package.add.task", "Add a task to a package."),
        "plan": Entry("commands.package.add.plan", "Add a plan to a package."),
        "parameter": Entry("commands.package.add.parameter", "Add a parameter to a package."),
        "maintainer": Entry("commands.package.add.maintainer", "Add a maintainer to a package."),
        "template": Entry("commands.package.add.template", "Add a template to a package."),
    },
)
_PACKAGE_PARAMS = Group(
    "package params",
    "Take parameters of a package from elsewhere.",
    {
        "import": Entry(
            "commands.package.params.import",
            "Add the parameters that a JSON Schema describes, such as that of a Helm chart.",
        ),
    },
)
_PACKAGE_LIST = Group(
    "package list",
    "List what a package contains.",
    {
        "tasks": Entry("commands.package.list.tasks", "List the tasks of a package."),
        "plans": Entry(
            "commands.package.list.plans",
            "List the plans of a package with their phases and steps.",
        ),
        "parameters": Entry(
            "commands.package.list.parameters", "List the parameters of a package."
        ),
        "params": Entry(
            "commands.package.list.params",
            "List the parameters of a package, like `package list parameters`.",
        ),
    },
)
_PACKAGE = Group(
    "package",
    "Write, check and archive packages; no cluster is needed.",
    {
        "new": Entry("commands.package.new", "Write a first working package."),
        "add": _PACKAGE_ADD,
        "params": _PACKAGE_PARAMS,
        "render": Entry(
            "commands.package.render",
            "Print the objects that a plan would apply; no cluster is contacted.",
        ),
        "docs": Entry("commands.package.docs", "Print the reference of a package in Markdown."),
        "create": Entry("commands.package.create", "Write the archive of a package."),
        "list": _PACKAGE_LIST,
        "verify": Entry("commands.package.verify", "Check a package; no cluster is contacted."),
    },
)
_REPO = Group(
    "repo",
    "Manage the repositories that packages are installed from.",
    {
        "add": Entry("commands.repo.add", "Add a repository, after reading its index."),
        "list": Entry(
            "commands.repo.list",
            "List the repositories; the one that commands use by default has a *.",
        ),
        "remove": Entry("commands.repo.remove", "Remove repositories from the list."),
        "context": Entry(
            "commands.repo.context", "Choose the repository that commands use by default."
        ),
        "index": Entry(
            "commands.repo.index",
            "Write the index of the packages in a folder, which makes it a repository.",
        ),
        "serve": Entry(
            "commands.repo.serve", "Serve the packages of a folder as a repository, until ctrl-C."
        ),
    },
    {"rm": "remove"},
)
_DIAGNOSTICS = Group(
    "diagnostics",
    "Collect what a bug report needs.",
    {
        "collect": Entry(
            "commands.diagnostics.collect", "Collect what a bug report needs, without secrets."
        ),
    },
)
ROOT = Group(
    "",
    "Install operators as KUDO packages, and run the plans of their instances.",
    {
        "init": Entry(
            "commands.init",
            "Install KUDO in the cluster: its CRDs, its webhook and its reconciler.",
        ),
        "install": Entry("commands.install", "Install an operator, and create an instance of it."),
        "update": Entry(
            "commands.update", "Change parameters of an instance; the plan that they trigger runs."
        ),
        "upgrade": Entry(
            "commands.upgrade", "Upgrade an instance to the version of its operator in a package."
        ),
        "uninstall": Entry(
            "commands.uninstall",
            "Delete an instance and what it created; its cleanup plan runs first, if it has one.",
        ),
        "suspend": Entry(
            "commands.suspend",
            "Pause an instance: what was sent is observed, nothing more is sent "
            "until it is resumed.",
        ),
        "resume": Entry(
            "commands.resume",
            "End the pause of an instance: a plan that was held up goes on, one "
            "that waited begins.",
        ),
        "adopt": Entry(
            "commands.adopt",
            "Record what an instance owns, in its Inventory; nothing else is changed.",
        ),
        "prune": Entry(
            "commands.prune",
            "Delete the orphans of an instance: objects that its plans applied and "
            "no task applies now.",
        ),
        "get": Entry(
            "commands.get",
            "List the instances, operators or operatorversions, or what an instance owns.",
        ),
        "describe": Entry(
            "commands.describe",
            "Show one instance: parameters, plans, children, objects and recent events.",
        ),
        "why": Entry(
            "commands.why",
            "Tell why instances are not ready: the cause first, then the next command to run.",
        ),
        "rbac": Entry(
            "commands.rbac",
            "Print or check the rights that plans need from the service account that they act as.",
        ),
        "plan": _PLAN,
        "package": _PACKAGE,
        "test": Entry(
            "commands.test.test",
            "Run test suites: folders of steps such as 00-install.yaml and 00-assert.yaml.",
        ),
        "repo": _REPO,
        "search": Entry(
            "commands.search", "List the packages of a repository whose name contains a text."
        ),
        "diagnostics": _DIAGNOSTICS,
        "completion": Entry(
            "commands.completion", "Print a script with which a shell completes command lines."
        ),
        "version": Entry(
            "commands.version", "Print the version of this plugin; no cluster is contacted."
        ),
    },
)
