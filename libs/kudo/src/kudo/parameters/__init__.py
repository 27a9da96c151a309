"""Parameter values: checking them, writing them as text, and what templates get to see.

Instances and OperatorVersions store every value as a string. The type of a parameter decides
which strings it accepts (`check`), what a template receives (`template`), and how a YAML value of
a package or a parameter file becomes a string (`text`, `sources`).
"""
