"""Small faults that can be planted in a source file, one at a time.

Promises: every :class:`Fault` of :func:`faults` changes one expression or statement and leaves a file that compiles; the
list is in the order of the file and the same on every run. Texts (messages, names) and annotations are not changed, nor
is anything inside f-strings.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_FIRST = ["min", "minimum", "argmin", "nanmin", "any", "floor", "zeros", "sum"]
_SECOND = ["max", "maximum", "argmax", "nanmax", "all", "ceil", "ones", "mean"]
SWAPPED = dict(zip(_FIRST + _SECOND, _SECOND + _FIRST, strict=True))
COPIES = {"copy", "deepcopy"}


@dataclass(frozen=True)
class Fault:
    """One change: ``before`` becomes ``after`` at bytes ``start`` to ``end`` of the file.

    ``lines`` are those by which a test reaches it; None for what runs on import (constants, defaults): any line will do.
    """

    kind: str
    line: int
    before: str
    after: str
    start: int
    end: int
    lines: tuple[int, int] | None

    def planted(self, source: str) -> str:
        """The source with the fault in it."""
        data = source.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()


def faults(source: str) -> list[Fault]:
    """Every fault that can be planted in a file."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tree = ast.parse(source)
    decisive = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.If | ast.IfExp | ast.While)}
    for place in _places(tree):
        node = place.node
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = data[start:end].decode()
        for kind, after in _changed(node, id(node) in decisive):
            fault = Fault(kind, node.lineno, before, after, start, end, place.lines)
            if _compiles(fault.planted(source)):
                found.append(fault)
    return sorted(found, key=lambda fault: (fault.start, fault.end, fault.after))


@dataclass(frozen=True)
class _Place:
    node: ast.expr | ast.stmt
    lines: tuple[int, int] | None


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Every expression and statement that may be changed, with the lines by which it is reached."""

    def visit(node: ast.AST, statement: ast.stmt | None, inside: bool) -> Iterator[_Place]:
        if isinstance(node, ast.JoinedStr) or _is_text(node) or _only_for_types(node) or _is_strict(node):
            return
        if isinstance(node, ast.stmt):
            statement = node
        if isinstance(node, ast.expr | ast.stmt) and statement is not None:
            yield _Place(node, (statement.lineno, node.end_lineno or node.lineno) if inside else None)
        for name, child in _children(node):
            if name in {"annotation", "returns"}:
                continue
            body = isinstance(node, ast.FunctionDef | ast.Lambda) and name == "body"
            yield from visit(child, statement, inside or body)

    for child in tree.body:
        yield from visit(child, None, False)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_strict(node: ast.AST) -> bool:
    """``zip(..., strict=True)``: of lists that have one length in all code that is right."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _compiles(source: str) -> bool:
    try:
        compile(source, "<fault>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _changed(node: ast.AST, decisive: bool) -> Iterator[tuple[str, str]]:
    """Kinds and texts of what may stand in the place of a node; ``decisive`` is the test of a branch."""
    if decisive and isinstance(node, ast.Name | ast.Call | ast.Attribute):
        yield "condition", f"(not {ast.unparse(node)})"
    for kind, change in KINDS:
        for new in change(node):
            text = ast.unparse(new)
            yield kind, f"({text})" if isinstance(new, ast.expr) else text


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _comparison(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            for other in COMPARED[type(op)]:
                yield _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        yield _with(node, op=COMPUTED[type(node.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield ast.Constant(2.0 * node.value if node.value else 1.0)


def _boolean(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _returned(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))


def _swapped(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
        yield _with(node, func=ast.Name(SWAPPED[node.func.id]))
    if isinstance(node.func, ast.Attribute) and node.func.attr in SWAPPED:
        yield _with(node, func=_with(node.func, attr=SWAPPED[node.func.attr]))


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """A call made for its effect, or a copy, that does not happen."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()
    method = node.func if isinstance(node, ast.Call) and not node.args else None
    if isinstance(method, ast.Attribute) and method.attr in COPIES:
        yield method.value


KINDS: list[tuple[str, Callable[[ast.AST], Iterator[ast.AST]]]] = [
    ("comparison", _comparison),
    ("arithmetic", _arithmetic),
    ("constant", _constant),
    ("boolean", _boolean),
    ("return", _returned),
    ("swapped", _swapped),
    ("left out", _left_out),
]
