"""What an Instance owns: the rules, without I/O. See docs/design/20261123.inventory.md."""
