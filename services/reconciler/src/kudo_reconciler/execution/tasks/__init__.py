"""How tasks of each kind run; `kudo.api.task_kinds` has what else the kinds are."""
