"""The commands, one module for each, named after the words that people type.

A module has the flags, the help and the examples of its command as `COMMAND`, and says what it does
step by step. What several commands share is in the other packages. It is imported when the command
line names it: `kubectl_kudo.catalogue` has the words, the module and the summary of each.
"""
