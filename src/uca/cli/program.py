"""The program around its commands: what an exception becomes, and where text goes."""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..io.advice import Advice, Hint, TableError
from .early import INTERRUPTED
from .ending import ending_as_interrupt
from .garbage import collect_rarely
from .safe import json_of, open_streams, printable, printable_lines, replacing_streams, tell_replaced
from .typed import in_words, second_try, with_backgrounds

if TYPE_CHECKING:
    from rich.console import Console

USAGE, DATA = 2, 1
TABLE_WIDTH = 140  # of tables where there is no terminal to fit into
# Typer carries its own copy of click in some versions: find the class that all wrong usage derives from by its heir.
WrongUsage: Any = typer.BadParameter.__base__


class Command(TyperCommand):
    """A command; tables that stand where none is taken are told to be given as backgrounds."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.allow_extra_args = True  # to be refused below, with what to type
        self.help = (self.help or "").replace("Examples:\n", "\b\nExamples:\n")  # lines of examples stay lines

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        typed = [str(ctx.info_name), *args]
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            takes = any(option.name == "background" for option in self.params)
            told = f"{', '.join(rest)}: not expected here{'; every background is named with -b' if takes else ''}"
            raise usage_error(told, again=with_backgrounds(typed, rest) if takes else None)
        return rest


class Program(TyperGroup):
    """The group of commands; turns every exception into one line and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        if args is None:  # the process is the program; with arguments, another program calls it
            collect_rarely()
        arguments = list(sys.argv[1:] if args is None else args)
        options = {"complete_var": complete_var, "windows_expand_args": windows_expand_args, **extra}
        if not standalone_mode:
            return super().main(arguments, prog_name, standalone_mode=False, **options)
        with open_streams():
            code = self._run(arguments or ["--help"], prog_name, options)
        sys.exit(code if arguments else code or USAGE)

    def _run(self, arguments: list[str], prog_name: str | None, extra: dict[str, Any]) -> int:
        with replacing_streams(), ending_as_interrupt() as received:
            code = self._code(arguments, prog_name, extra)
            if code == INTERRUPTED:
                typer.echo(f"uca: {'ended' if received else 'interrupted'}; no result was changed", err=True)
        tell_replaced(complete=code == 0)
        return 128 + received[0] if code == INTERRUPTED and received else code

    def _code(self, arguments: list[str], prog_name: str | None, extra: dict[str, Any]) -> int:
        """Run a command; its exit code."""
        try:
            code = super().main(arguments, prog_name, standalone_mode=False, **extra)
            sys.stdout.flush()  # what it does not take is an error of this command
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            if "--debug" in arguments:
                typer.echo(printable_lines(traceback.format_exc()), err=True, nl=False)
            command = next((f"uca {name}" for name in arguments if name in self.commands), "uca")
            line, code = explain(error, command)
            say(getattr(error, "__notes__", ()), quiet=not {"-q", "--quiet", "--json"}.isdisjoint(arguments))
            typer.echo(printable(line), err=True)
            again = better(error, arguments)
            if again is not None:
                typer.echo(printable(f"try: {again}"), err=True)
        return code if isinstance(code, int) else 0


def explain(error: Exception, command: str = "uca") -> tuple[str, int]:
    """One line for an exception, and its exit code."""
    told = error.format_message() if isinstance(error, WrongUsage) else str(error)
    text = " ".join((in_options(error.advice) if isinstance(error, TableError) else told).split())
    if isinstance(error, WrongUsage):
        stop = "" if text.endswith((".", "?")) else "."
        return f"{command}: {text}{stop} See {command} --help", USAGE
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"uca: {error.filename}: {error.strerror}", DATA
    if isinstance(error, MemoryError):
        return f"uca: not enough memory. {text}".rstrip(), DATA
    if isinstance(error, (ValueError, OSError, ImportError)):
        return f"uca: {text}", DATA
    return f"uca: unexpected {type(error).__name__}: {text}. Run again with --debug and report what it prints", DATA


def better(error: Exception, arguments: Sequence[str]) -> str | None:
    """The command to type instead of the one that failed, where it is known."""
    again: str | None = getattr(error, "again", None)
    remedy = getattr(error, "remedy", ())
    return second_try(arguments, remedy) if again is None and remedy else again


def usage_error(text: str, remedy: tuple[Hint, ...] = (), again: str | None = None) -> Exception:
    """What to raise for wrong usage; the line ends with a pointer to the help.

    ``remedy`` are options to add to what was typed, ``again`` is a whole command to type instead.
    """
    error: Any = WrongUsage(text)
    error.remedy, error.again = remedy, again
    return error


def in_options(text: str) -> str:
    """A note or an error of a table, with the options of the program in place of the library's parameters."""
    return text.told(in_words) if isinstance(text, Advice) else text


def terminal() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)


def say(notes: Sequence[str], *, quiet: bool = False) -> None:
    """Print notes to standard error, a line each."""
    for note in () if quiet else dict.fromkeys(notes):
        typer.echo(printable(f"note: {' '.join(note.split())}"), err=True)


def tell(content: dict[str, Any], *, quiet: bool, as_json: bool) -> bool:
    """Print what was found as JSON, or its notes; whether tables for people are to follow."""
    if as_json:
        typer.echo(json_of(content))
        return False
    say(content["notes"], quiet=quiet)
    return not quiet


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect what libraries warn of; warnings meant for programmers are dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    notes += [str(w.message) for w in caught]


def print_version(wanted: bool) -> None:
    """The version, and nothing else."""
    if wanted:
        from .._version import __version__

        typer.echo(f"uca {__version__}")
        raise typer.Exit


def describe_program(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version and stop")
    ] = False,
) -> None:
    """Unique Component Analysis: what one dataset has and others do not."""
