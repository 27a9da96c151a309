"""What is wrong with an installation or an Instance, and what a bug report needs."""
