"""The command line program ``uca``: what a command does is one file here, what it is told is one in ``commands``.

Promises: exit code 0 for success, 1 for data that cannot be used, 2 for wrong usage, 130 for an interrupt, 143 and 129
for SIGTERM and SIGHUP; one line on standard error that says what to do, a second one ``try: uca …`` where the right command
is known, and a traceback only with ``--debug``; results on standard output, notes and progress on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from .early import quiet_interrupts

with quiet_interrupts():
    try:
        import rich  # noqa: F401
        import typer
    except ImportError:  # the program is installed with the package, its libraries with the extra
        sys.exit("the program needs its libraries: pip install 'unique-component-analysis[cli]'")

    from .command import flat
    from .commands import compare, demo, each, fit, info, plot, reproduce, test, transform
    from .program import Command, Program, describe_program


class App(typer.Typer):
    """The program; an interrupt before or after a command is one line as well."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with quiet_interrupts():
            return super().__call__(*args, **kwargs)


app = App(cls=Program, no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
app.callback()(describe_program)
COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit.fit,
    "test": test.uniqueness,
    "transform": transform.transform,
    "plot": plot.plot,
    "compare": compare.compare,
    "each": each.each,
    "info": info.info,
    "reproduce": reproduce.reproduce,
    "demo": demo.demo,
}
for name, command in COMMANDS.items():
    app.command(name, cls=Command)(flat(command))

__all__ = ["app"]
