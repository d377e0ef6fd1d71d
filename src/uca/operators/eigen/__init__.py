"""Top eigenpairs of the combinations of a pencil."""
