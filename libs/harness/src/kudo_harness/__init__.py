"""Test suites of operator packages, in the format of `kubectl kudo test` and kuttl.

`suite` reads suites and finds what is wrong with them, `commands` makes argv and environment of a
command, `matching` compares asserts with objects, `report` writes results. Nothing here speaks to a
cluster, starts a process or reads the clock: whoever runs a suite does.
"""
