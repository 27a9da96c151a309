"""Tasks: what their templates and fields become.

`rendering` makes objects from templates, `pipe` a pod and the files that it hands on, `job` a Job
that runs a program, `kudo_operator` the Instance of a child. The kinds of tasks are in
`kudo.api.task_kinds`.
"""
