"""Views of plans, runs and objects that several commands show: tables, trees, live views."""
