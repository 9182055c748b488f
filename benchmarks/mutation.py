"""Plant random faults in the product files of some rooms and report the share that the rooms' tests catch.

    python benchmarks/mutation.py tables images --faults 30 --seed 0

A fault changes one place: it flips a comparison, exchanges `+` and `-`, adds one to a constant, drops a `not`, negates
a condition, replaces a returned value, or deletes a statement. Docstrings, messages, annotations and code for type
checkers stay as they are. The tests of the fault's own room run with `-x` in a temporary copy of the checkout. A fault
is drawn by a hash of its file, function and text: other changes do not change the draw, so that two versions of the
tests meet the same faults.
"""

import argparse
import ast
import copy
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = ("nasbench1shot1", "", "experiments")
"""Where rooms lie."""
OPPOSITE: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One changed place: the source text between two offsets (bytes) of a file, before and after."""

    file: str
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        """Return the place and both texts, in one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line} {self.function or '<module>'}: {before[:70]!r} -> {after[:70]!r}"


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield faulty versions of a node."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator, *_]):
            new.ops[0] = OPPOSITE[type(operator)]()  # type: ignore[call-overload]
            yield new
        case ast.BinOp() if type(new.op) in OPPOSITE and not any(map(is_text, (new.left, new.right))):
            new.op = OPPOSITE[type(new.op)]()  # type: ignore[assignment]
            yield new
        case ast.BoolOp():
            new.op = OPPOSITE[type(new.op)]()  # type: ignore[assignment]
            yield new
        case ast.UnaryOp(op=ast.Not()):
            yield new.operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not new.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(new.value + 1)
        case ast.If() | ast.IfExp() | ast.While() if not isinstance(new.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield ast.UnaryOp(ast.Not(), new.test)
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def is_text(node: ast.AST) -> bool:
    """Return whether an operand is a string."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_for_type_checkers(node: ast.AST) -> bool:
    """Return whether a statement is `if TYPE_CHECKING`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def places(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Yield nodes that may be changed, with the qualified name of their function."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    elif isinstance(node, ast.Raise | ast.JoinedStr) or is_for_type_checkers(node):
        if isinstance(node, ast.Raise):
            yield node, function
        return  # a message, or no code at all
    yield node, function
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from places(child, function)


def faults_of(file: Path, root: Path) -> Iterator[Fault]:
    """Yield all faults of a source file."""
    content = file.read_bytes()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, function in places(ast.parse(content)):
        for new in changed(node):
            place = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
            assert isinstance(place, ast.expr | ast.stmt) and place.end_lineno and place.end_col_offset is not None
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            text = ast.unparse(ast.fix_missing_locations(new))
            after = f"({text})" if isinstance(new, ast.expr) else text
            before = content[start:end].decode()
            yield Fault(str(file.relative_to(root)), function, place.lineno, start, end, before, after)


def drawn(root: Path, rooms: list[str], number: int, seed: int) -> list[Fault]:
    """Draw faults from the rooms' files; the order is that of a hash."""
    ranked = []
    for room in rooms:
        folders = [root / folder / room for folder in FOLDERS if (root / folder / room).is_dir()]
        seen: Counter[str] = Counter()
        for fault in (
            fault for folder in folders for file in sorted(folder.rglob("*.py")) for fault in faults_of(file, root)
        ):
            key = f"{seed} {fault.file} {fault.function} {fault.before} {fault.after}"
            seen[key] += 1
            ranked.append((hashlib.sha256(f"{key} {seen[key]}".encode()).hexdigest(), fault))
    return [fault for _, fault in sorted(ranked, key=lambda pair: pair[0])[:number]]


def room_of(fault: Fault, rooms: list[str]) -> str:
    """Return the room that a fault's file belongs to."""
    return next(room for room in rooms if room in Path(fault.file).parent.parts)


def passes(root: Path, room: str, seconds: float) -> tuple[bool, str]:
    """Run a room's tests; return whether they pass, and the first failure."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, f"tests/{room}"], cwd=root, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, f"more than {seconds:.0f} s"
    failures = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return process.returncode == 0, failures[0] if failures else output.strip()[-200:]


def main() -> None:
    """Draw faults, run the tests against each, and print the share caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rooms", nargs="+", metavar="ROOM", help="folder of tests/ and of the package")
    parser.add_argument("--faults", type=int, default=30, help="number of faults (default: 30)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, help="seconds per fault; then the tests do not run without a fault first"
    )
    parser.add_argument("--list", action="store_true", help="only print the faults")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "checkout"
        shutil.copytree(CHECKOUT, root, ignore=shutil.ignore_patterns(".git", ".venv", "build", "__pycache__"))
        for shared in (CHECKOUT.parent / "shared", Path(os.environ.get("NB1SHOT1_SHARED", "/nowhere"))):
            if shared.is_dir():  # more real data (tests/conftest.py)
                (Path(folder) / "shared").symlink_to(shared)
                break
        faults = drawn(root, options.rooms, options.faults, options.seed)
        if options.list:
            return print(*faults, sep="\n")
        limits: dict[str, float] = {}
        for room in options.rooms if not options.limit else ():
            began = time.monotonic()
            passed, reason = passes(root, room, 1800)
            assert passed, f"the tests of {room} fail without a fault: {reason}"
            limits[room] = 60 + 5 * (time.monotonic() - began)
        caught = 0
        for number, fault in enumerate(faults, 1):
            file = root / fault.file
            content = file.read_bytes()
            file.write_bytes(content[: fault.start] + fault.after.encode() + content[fault.end :])
            room = room_of(fault, options.rooms)
            passed, reason = passes(root, room, limits.get(room, options.limit))
            file.write_bytes(content)
            caught += not passed
            print(f"{number:3} {'SURVIVED' if passed else 'caught  '} {fault}", flush=True)
            print(f"    {'' if passed else reason}", flush=True)
        print(f"{caught} of {len(faults)} faults caught in {' '.join(options.rooms)} (seed {options.seed})")


if __name__ == "__main__":
    main()
