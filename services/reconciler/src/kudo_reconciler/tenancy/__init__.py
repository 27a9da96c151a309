"""Whose rights the tasks of an Instance have: accounts, impersonation, access reviews."""
