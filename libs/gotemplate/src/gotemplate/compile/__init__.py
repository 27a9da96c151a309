"""Trees to closures that render: statements, pipelines, calls, variables and loops."""
