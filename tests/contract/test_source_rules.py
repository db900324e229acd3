"""Rules about the source code that can be checked automatically."""

import functools
import re
import tomllib
from pathlib import Path

import pytest

import committee
from tests.contract.source_reading import (
    ROOT,
    count_any,
    count_cpp_lines,
    count_python_lines,
    find_cpp_functions,
    find_cpp_names,
    find_imports,
    find_python_functions,
    find_python_names,
    list_sources,
)

MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 60
MOST_SCALAR_ARGUMENTS = 7
MOST_ANY = 0.1
#: Words that were once used in place of the field's, which readers search for.
PRIVATE_WORDS = {
    "told": "params, fitted or result",
    "slopes": "gradients",
    "tally": "accumulator or histogram",
    "lesson": "training set",
    "roster": "named ensemble",
    "parted": "partitioned",
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
# Only these packages may import the module named first.
DOORS = {
    "committee._core": ("committee.engines", "committee.losses", "committee.data.binning"),
}

#: Packages whose results are part of fitted models.
OF_FITS = tuple(f"committee.{name}." for name in ("automatic", "ensembles", "io.readers", "learners", "search"))
#: Modules of estimators that may take NumPy's exponentials and logarithms: no fit reads what they compute.
AFTER_FITS = {
    "committee.learners.formula_rows": "formulas of exports",
    "committee.learners.naive_bayes": "formulas of exports",
}

PYTHON = list_sources("src", "tests", "benchmarks", "examples", endings=(".py",))
PACKAGE = list_sources("src", endings=(".py",))
CPP = list_sources("cpp", endings=(".hpp", ".cpp"))
#: The one header that may name what C++20 has not, and what that looks like.
OF_COMPILERS = "cpp/include/committee/compiler.hpp"
EXTENSION = re.compile(
    r"\b__builtin_\w+|\b__attribute__|\[\[(?:gnu|clang|msvc)::|\b__restrict|\b(?:asm|__asm__|__asm|__declspec)\b"
    r"|\b__(?:u?int128_t|int128|typeof__|forceinline|extension__|assume)\b|\btypeof\b"
)
# A mask of AVX-512 that the compiler widens by itself: some versions of GCC read bits that nobody wrote.
WIDENED_MASK = re.compile(
    r"\b(?:u32|u64|unsigned|int|std::size_t) \w+ = _mm\w*_mask\(|popcount\((?:static_cast<\w+>\()?_mm"
    r"|\b(?:u32|u64|unsigned)\{_mm\w*_mask\("
)
SCRIPTS = list_sources("src", endings=(".js", ".css"))


def name_source(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def name_module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def test_the_sources_are_found() -> None:
    assert len(PACKAGE) > 10
    assert len(CPP) > 10


def test_files_are_short() -> None:
    texts = {name_source(path): path.read_text(encoding="utf-8") for path in PYTHON + CPP}
    assert len(texts) > 100
    # What has few lines at all has few lines of code, and need not be read.
    texts = {name: text for name, text in texts.items() if text.count("\n") > MOST_FILE_LINES}
    lengths = {
        name: len(count_python_lines(text)) if name.endswith(".py") else count_cpp_lines(text)
        for name, text in texts.items()
    }
    assert not {name: n_lines for name, n_lines in lengths.items() if n_lines > MOST_FILE_LINES}


def test_scripts_are_short() -> None:
    lengths = {name_source(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SCRIPTS}
    assert not {name: n_lines for name, n_lines in lengths.items() if n_lines > MOST_FILE_LINES}


def test_functions_are_short_and_take_few_scalars() -> None:
    long, wide = [], []
    for path in PYTHON + CPP:
        name, text = name_source(path), path.read_text(encoding="utf-8")
        functions = list(find_python_functions(text) if path.suffix == ".py" else find_cpp_functions(text))
        # Bindings and tests name every argument of what they call; the rule is for those who define it.
        defines = not name.startswith(("cpp/bind/", "tests/", "benchmarks/"))
        long += [(name, f) for f in functions if f.n_lines > MOST_FUNCTION_LINES]
        wide += [(name, f) for f in functions if defines and f.n_scalars > MOST_SCALAR_ARGUMENTS]
    assert not long
    assert not wide


def test_a_name_of_the_core_means_one_thing() -> None:
    owners: dict[str, list[str]] = {}
    for path in CPP:
        for name in find_cpp_names(path.read_text(encoding="utf-8")):
            owners.setdefault(name, []).append(name_source(path))
    assert {"AlignedBuffer", "Trees", "kMissingBin", "u32"} <= owners.keys()
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}


def test_a_name_of_the_package_means_one_thing() -> None:
    owners: dict[str, list[str]] = {}
    for path in PACKAGE:
        for name in find_python_names(path.read_text(encoding="utf-8")):
            owners.setdefault(name, []).append(name_module(path))
    assert {"Dataset", "RandomForestClassifier", "take_in", "FloatArray", "MaxBins"} <= owners.keys()
    assert {name: modules for name, modules in owners.items() if len(modules) > 1} == {}


def test_few_parameters_may_be_anything() -> None:
    counts = [count_any(path.read_text(encoding="utf-8")) for path in PACKAGE]
    n_any, n_all = (sum(column) for column in zip(*counts, strict=True))
    assert n_all > 3000
    assert n_any / n_all < MOST_ANY


def test_names_are_those_of_the_field() -> None:
    found = []
    for path in PACKAGE + CPP:
        words = set(re.findall(r"[a-z]+", path.read_text(encoding="utf-8")))
        # Earlier names of modules are the subject of committee.moved.
        if path.name != "moved.py":
            found += [
                f"{name_source(path)}: {word}; say {PRIVATE_WORDS[word]}" for word in words & PRIVATE_WORDS.keys()
            ]
    assert not found


def test_no_file_is_a_collection_of_leftovers() -> None:
    named = [p for p in PYTHON + CPP if p.stem in FORBIDDEN_NAMES or p.name == "core.py"]
    folders = [p for p in PYTHON + CPP if FORBIDDEN_NAMES & set(p.relative_to(ROOT).parts[:-1])]
    assert not named
    assert not folders


@functools.cache
def list_imports() -> list[tuple[str, str, str, str]]:
    """Module, place, imported module and name of every import of the package."""
    return [
        (name_module(path), f"{name_source(path)}, line {line}", module, name)
        for path in PACKAGE
        for line, module, name in find_imports(path.read_text(encoding="utf-8"))
    ]


def test_nothing_private_of_scikit_learn_is_imported() -> None:
    assert not [
        f"{place}: {module} {name}"
        for _, place, module, name in list_imports()
        if module.partition(".")[0] == "sklearn" and "._" in f".{module}.{name}"
    ]


def test_underscore_names_stay_in_their_package() -> None:
    foreign = []
    for here, place, module, name in list_imports():
        full = f"{module}.{name}".rstrip(".").split(".")
        is_private = any(part.startswith("_") and not part.startswith("__") for part in full[1:])
        if full[0] == "committee" and is_private and full[1] != "_core" and full[:2] != here.split(".")[:2]:
            foreign.append(f"{place}: {'.'.join(full)}")
    assert not foreign


def test_each_engine_has_its_doors() -> None:
    uninvited = []
    for here, place, module, name in list_imports():
        full = f"{module}.{name}."
        for guarded, doors in DOORS.items():
            if full.startswith(f"{guarded}.") and not any(f"{here}.".startswith(f"{door}.") for door in doors):
                uninvited.append(f"{place}: {guarded} may be imported in {', '.join(doors)} only")
    assert not uninvited


def test_fits_take_exponentials_of_our_own() -> None:
    """NumPy's change their last bits with its version and the processor; `committee.losses` has others."""
    of_numpy = re.compile(r"\bnp\.(exp|exp2|expm1|log|log2|log10|log1p|logaddexp|tanh|power)\b")
    found = {
        name_module(path)
        for path in PACKAGE
        if name_module(path).startswith(OF_FITS)
        for line in path.read_text(encoding="utf-8").splitlines()
        if of_numpy.search(line) and not line.lstrip().startswith((">>>", "..."))
    }
    assert found == set(AFTER_FITS)


def test_extensions_of_compilers_are_behind_one_header() -> None:
    """There they have a form for other compilers; the standard's forms (`std::popcount`) need none."""
    found = {name_source(path): EXTENSION.findall(path.read_text(encoding="utf-8")) for path in CPP}
    assert len(found.pop(OF_COMPILERS)) > 10
    assert not {name: extensions for name, extensions in found.items() if extensions}


@pytest.mark.parametrize("wrong", ["const u32 low = _mm512_cmp_pd_mask(", "popcount(_mm512_cmplt", "u64{_mm_cmp_mask("])
def test_masks_become_numbers_in_one_place(wrong: str) -> None:
    """`lanes_of` of `base/x86_vectors.hpp`."""
    assert WIDENED_MASK.search(wrong)
    assert not [name_source(path) for path in CPP if WIDENED_MASK.search(path.read_text(encoding="utf-8"))]


def test_no_path_of_a_machine_is_written_down() -> None:
    # Put together from parts, or this line would find itself.
    pattern = re.compile(r"(?<![\w.:/-])/(?:" + "|".join(("home", "root", "work", "Users", "opt", "mnt")) + r")/\w")
    texts = [
        *PYTHON,
        *CPP,
        *list_sources("docs", ".ci", "tests", "benchmarks", endings=(".md", ".rst", ".sh", ".toml", "")),
        *(p for p in ROOT.glob("*") if p.suffix in {".md", ".toml", ".txt", ".yaml"} or p.name == "Makefile"),
    ]
    found = [name_source(p) for p in texts if pattern.search(p.read_text(encoding="utf-8", errors="replace"))]
    assert not found


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert committee.__version__ == project["version"]


LONG_CPP = """
namespace committee {
template <class T, class U = std::vector<T>>
struct Box {
  int size() const { return 1; }
  void set(int a, u32 b, const double c, std::span<const int> d, bool e = true) {
    auto twice = [&](int x) { return 2 * x; };
    // a comment with a brace {
    const char* text = "}";
  }
};
enum class Kind : u8 { a, b };
inline constexpr int kSizes[] = {1, 2, 3};
template <class T>
Box<T> build(const Params& params) {
LINES}
}  // namespace committee
""".replace("LINES", "  step();\n" * 70)


def test_the_reader_of_cpp_measures_what_it_should() -> None:
    functions = {f.name: f for f in find_cpp_functions(LONG_CPP)}
    assert set(functions) == {"size", "set", "build"}
    assert functions["build"].n_lines == 72
    assert functions["set"].n_lines == 4
    assert functions["set"].n_scalars == 4
    assert functions["build"].n_scalars == 0


def test_the_reader_of_cpp_sees_names() -> None:
    text = (
        "struct A {\n  struct Inner {};\n};\nstruct B;\nnamespace {\nclass Hidden {};\n}  // namespace\n"
        "class C final : public A {};\ninline constexpr std::size_t kMany = 4;\n"
        "template <class T>\nusing Kept = T;\nusing L [[gnu::vector_size(16)]] = int;\nusing namespace std;\n"
    )
    assert find_cpp_names(text) == {"A", "C", "kMany", "Kept", "L"}


def test_the_reader_of_python_sees_names_and_any() -> None:
    text = (
        "class A:\n    def run(self, X: Any, to: list[Any], n: int) -> Any: ...\ndef _hidden(): ...\ndef seen(): ...\n"
        "Alias: TypeAlias = int\nDepth = Annotated[int, 'a']\nLIMIT = 3\n"
    )
    assert find_python_names(text) == {"A", "seen", "Alias", "Depth"}
    assert count_any(text) == (1, 2)


def test_the_reader_of_python_measures_what_it_should() -> None:
    body = "    x = 1\n" * 70
    source = f'def grow(a: int, b: str | None, c: list[int], d: float):\n    """Two\n    lines."""\n\n    # why\n{body}'
    (function,) = find_python_functions(source)
    assert function.n_lines == 71
    assert function.n_scalars == 3
    assert list(find_imports("from sklearn.tree import _tree\nif TYPE_CHECKING:\n    import cupy\n")) == [
        (1, "sklearn.tree", "_tree")
    ]
