"""The commands, in the order in which the help lists them, and the module of each."""

from kubectl_kudo.core.command import Group

ROOT = Group(
    "",
    "Install operators as KUDO packages, and run the plans of their instances.",
    {
        "init": "init.init",
        "install": "instances.install",
        "update": "instances.update",
        "upgrade": "instances.upgrade",
        "uninstall": "instances.uninstall",
        "suspend": "control.suspend",
        "resume": "control.resume",
        "adopt": "upkeep.adopt",
        "prune": "upkeep.prune",
        "get": "get.get",
        "describe": "get.describe",
        "why": "diagnostics.why",
        "rbac": "rbac.rbac",
        "plan": Group(
            "plan",
            "Show, run, retry and cancel the plans of an instance.",
            {
                "status": "plans.status",
                "history": "plans.history",
                "trigger": "plans.trigger",
                "retry": "plans.retry",
                "wait": "plans.wait",
                "cancel": "plans.cancel",
            },
        ),
        "package": Group(
            "package",
            "Write, check and archive packages; no cluster is needed.",
            {
                "new": "authoring.new",
                "add": Group(
                    "package add",
                    "Add to a package, and keep how it is written.",
                    {
                        "task": "authoring.adding.task",
                        "plan": "authoring.adding.plan",
                        "parameter": "authoring.adding.parameter",
                        "maintainer": "authoring.adding.maintainer",
                        "template": "authoring.adding.template",
                    },
                ),
                "render": "authoring.render",
                "docs": "authoring.docs",
                "create": "authoring.create",
                "list": Group(
                    "package list",
                    "List what a package contains.",
                    {
                        "tasks": "authoring.listing.tasks",
                        "plans": "authoring.listing.plans",
                        "parameters": "authoring.listing.parameters",
                        "params": "authoring.listing.params",
                    },
                ),
                "verify": "packages.verify",
            },
        ),
        "test": "testing.test",
        "repo": Group(
            "repo",
            "Manage the repositories that packages are installed from.",
            {
                "add": "repositories.add",
                "list": "repositories.list",
                "remove": "repositories.remove",
                "context": "repositories.context",
                "index": "repositories.index",
                "serve": "repositories.serve",
            },
            {"rm": "remove"},
        ),
        "search": "repositories.search",
        "diagnostics": Group(
            "diagnostics",
            "Collect what a bug report needs.",
            {"collect": "diagnostics.collect"},
        ),
        "completion": "shell.completion",
        "version": "version",
    },
)
