"""The shell's side of the command line: completion of words, and the scripts that ask for it."""
