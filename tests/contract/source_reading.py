"""Reading Python and C++ sources just well enough to measure them."""

import ast
import functools
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SCALARS = {"bool", "int", "float", "double", "char", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"}
#: Parameters that hold a user's table or target, of any type.
TABLES = {"X", "y", "X_test", "y_test", "X_train", "y_train"}
SCALARS |= {"size_t", "std::size_t", "ptrdiff_t", "std::ptrdiff_t", "std::string", "str"}


@dataclass(frozen=True)
class Function:
    name: str
    line: int
    n_lines: int  # of code: no blank lines, comments or docstring
    n_scalars: int  # arguments that are plain numbers, flags or names


def list_sources(*folders: str, endings: tuple[str, ...]) -> list[Path]:
    found = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in endings and p.is_file()]
    return sorted(p for p in found if "__pycache__" not in p.parts and p.name != "_core.pyi")


# --- Python ---------------------------------------------------------------------------------------------------


class PythonFacts(NamedTuple):
    """What the rules ask of a source file; the tree that it was read from is not kept."""

    code: set[int]
    functions: list[Function]
    imports: list[tuple[int, str, str]]
    names: set[str]
    n_any: int
    n_parameters: int


@functools.cache
def read_python(text: str) -> PythonFacts:
    """All facts of a source, from one walk over its tree: several rules read every file."""
    tree = ast.parse(text)
    texts: set[int] = set()
    docstrings: set[int] = set()
    definitions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
    imports: list[tuple[int, str, str]] = []
    for node, runs in _walk(tree):
        if isinstance(node, ast.expr):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno != node.lineno:
                texts.update(_span(node))  # what looks blank is text
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(_span(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            definitions.append(node)
        elif runs and isinstance(node, ast.Import):
            imports += [(node.lineno, alias.name, "") for alias in node.names]
        elif runs and isinstance(node, ast.ImportFrom):
            imports += [(node.lineno, node.module or "", alias.name) for alias in node.names]
    lines = {number for number, line in enumerate(text.split("\n"), 1) if line.strip() and line.strip()[0] != "#"}
    code = (lines | texts) - docstrings
    counts = [_count_any(node) for node in definitions]
    n_any, n_parameters = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    functions = [_measure_function(node, code) for node in definitions]
    return PythonFacts(code, functions, imports, _find_names(tree), n_any, n_parameters)


#: Values of nodes below which there is nothing to read; most of a tree.
_LEAVES = {int, str, type(None), ast.Name, ast.Load, ast.Store, ast.Del, *ast.operator.__subclasses__()}
_LEAVES |= {*ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__(), *ast.unaryop.__subclasses__()}


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """The nodes of a tree, and whether they run: what stands under TYPE_CHECKING does not."""
    found: deque[tuple[ast.AST, bool]] = deque([(tree, True)])
    while found:
        node, runs = found.popleft()
        yield node, runs
        unread = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else None
        for value in vars(node).values():
            kind = type(value)
            if kind in _LEAVES:
                continue
            if kind is list:
                own = runs and value is not unread
                found.extend([(child, own) for child in value if type(child) not in _LEAVES])
            elif isinstance(value, ast.AST):
                found.append((value, runs))


def _span(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _measure_function(node: ast.FunctionDef | ast.AsyncFunctionDef, code: set[int]) -> Function:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    scalars = [a for a in arguments if a.annotation and _is_scalar(a.annotation)]
    # A constructor's arguments are the estimator's parameters, a command's are its options.
    if scalars and (node.name == "__init__" or any("command" in ast.dump(d) for d in node.decorator_list)):
        scalars = []
    return Function(node.name, node.lineno, len(code.intersection(_span(node))), len(scalars))


def _find_names(tree: ast.Module) -> set[str]:
    names = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and not node.name.startswith("_")):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
            names.add(ast.unparse(node.target))
        elif isinstance(node, ast.Assign) and _is_made_of_types(node.value):
            names.update(ast.unparse(target) for target in node.targets)
    return {name for name in names if not (name.startswith("__") and name.endswith("__"))}


def _is_made_of_types(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript) and ast.unparse(value.value) in {"Annotated", "Literal"}


def _count_any(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    found = node.args
    given = [*found.posonlyargs, *found.args, *found.kwonlyargs, *filter(None, (found.vararg, found.kwarg))]
    counted = [a.annotation for a in given if a.annotation is not None and a.arg not in TABLES]
    return sum("Any" in re.findall(r"\w+", ast.unparse(annotation)) for annotation in counted), len(counted)


def _is_scalar(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.BinOp):
        return _is_scalar(annotation.left) and _is_scalar(annotation.right)
    if isinstance(annotation, ast.Constant):
        return annotation.value is None
    return isinstance(annotation, ast.Name) and annotation.id in SCALARS


def count_python_lines(text: str) -> set[int]:
    """Numbers of the lines that hold code: neither blank nor comment nor docstring."""
    return read_python(text).code


def find_python_functions(text: str) -> list[Function]:
    return read_python(text).functions


def find_imports(text: str) -> list[tuple[int, str, str]]:
    """(line, module, name) of each import that runs; those under TYPE_CHECKING do not."""
    return read_python(text).imports


def find_python_names(text: str) -> set[str]:
    """Classes, type aliases and public functions at module level: what other modules can import by name.

    A name that is only assigned counts where its value is made of types: ``Member = Annotated[...]``.
    """
    return read_python(text).names


def count_any(text: str) -> tuple[int, int]:
    """Parameters annotated with Any, and all parameters; tables and targets (X, y) may be anything and do not count."""
    facts = read_python(text)
    return facts.n_any, facts.n_parameters


# --- C++ ------------------------------------------------------------------------------------------------------


def strip_cpp(text: str) -> str:
    """Comments, directives and the inside of literals made blank; every line stays in its place."""

    def blank(match: re.Match[str]) -> str:
        return '""' + "\n" * match[0].count("\n") if match[0][0] in "\"'" else "\n" * match[0].count("\n")

    text = re.sub(
        r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", blank, text, flags=re.S
    )
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M)


def count_cpp_lines(text: str) -> int:
    return sum(bool(line.strip()) for line in strip_cpp(text).splitlines())


def find_cpp_functions(text: str) -> Iterator[Function]:
    """Function definitions at namespace or class level; lambdas belong to the function around them."""
    code = strip_cpp(text)
    start, depth, opened = 0, 0, 0
    header, scopes = "", 0  # scopes: braces of namespaces and types that are open
    for found in re.finditer(r"[;{}]", code):
        at, sign = found.start(), found[0]
        if depth == 0:
            header = re.sub(r"\btemplate\s*<[^{;]*?>\s*(?=[\w:~\[])", "", code[start:at])
            start = at + 1
        if sign == "{":
            if depth == 0 and not _opens_function(header):
                scopes += 1
            else:
                if depth == 0:
                    opened = at - len(header)
                depth += 1
        elif sign == "}":
            if depth == 0:
                scopes -= 1
            else:
                depth -= 1
                if depth == 0:
                    first = code.count("\n", 0, opened) + 1
                    body = code[opened : at + 1]
                    n_lines = sum(bool(line.strip()) for line in body.splitlines())
                    yield Function(_name_function(header), first, n_lines, _count_cpp_scalars(header))
                    start = at + 1


def _opens_function(header: str) -> bool:
    outside = re.sub(r"\b(?:alignas|requires)\s*\([^)]*\)", "", header)
    return "(" in outside and not re.search(r"^\s*(?:inline\s+)?(?:namespace|extern)\b", outside)


def _name_function(header: str) -> str:
    found = re.search(r"([\w:~]+|operator\s*\S+?)\s*\(", header)
    return found[1] if found else header.strip()


def _count_cpp_scalars(header: str) -> int:
    inside, depth, parts, current = False, 0, [], ""
    for sign in header:
        if not inside:
            inside = sign == "("
            continue
        if sign == ")" and depth == 0:
            break
        depth += (sign in "(<[{") - (sign in ")>]}")
        if sign == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += sign
    parts.append(current)
    types = (re.sub(r"\b(?:const|constexpr)\b|\s*=.*", "", part).split() for part in parts)
    return sum(bool(words) and words[0] in SCALARS and "*" not in words[-1] for words in types)


def find_cpp_names(text: str) -> set[str]:
    """Types, constants and aliases at namespace scope that other files of the program can see."""
    seen = re.sub(r"^namespace \{\n.*?^\}  // namespace$", "", text, flags=re.MULTILINE | re.DOTALL)
    types = re.findall(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)? ?\{", seen, flags=re.MULTILINE)
    constants = re.findall(r"^inline constexpr [\w:<> ]+? (k\w+)\b", seen, flags=re.MULTILINE)
    aliases = re.findall(r"^using (\w+)\b[^;]*=", seen, flags=re.MULTILINE)
    return {*types, *constants, *aliases}
