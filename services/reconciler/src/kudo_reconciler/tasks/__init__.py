"""How tasks of each kind run; `kudo.tasks` has what else the kinds are."""
