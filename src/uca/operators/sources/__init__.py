"""Rows where they are, and the passes over them."""
