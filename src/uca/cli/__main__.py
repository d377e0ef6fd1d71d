"""``python -m uca.cli`` is the program ``uca``."""

from . import app

app(prog_name="uca")
