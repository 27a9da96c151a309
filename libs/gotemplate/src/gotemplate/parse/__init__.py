"""Template text to a tree: lexer, parser and the nodes of the tree."""
