"""Names are verbs or nouns, unique, and in the field's words; no module imports a test module."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from drf_spectacular.generators import SchemaGenerator

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("memories", "scoring", "recall_site")
# Past participles that used to name functions; regular ones are caught by their ending.
PARTICIPLES = {
    *("told", "shown", "kept", "asked", "written", "drawn", "made", "spelt", "heard", "held", "found"),
    *("given", "taken", "known", "seen", "said", "sent", "left", "begun", "gone", "done", "lost", "won"),
    *("met", "built", "chosen", "understood", "hidden", "brought", "meant", "stood"),
}
VERBS_IN_ED = {"embed", "reembed"}
PRESCRIBED = {"throttled"}  # by DRF
# The same role in every entry of a registry, or a name that Django, DRF or Python prescribes.
ROLES = {
    *("score", "gates", "order", "settle", "SYSTEM", "sql", "scores_of", "matches", "bodies"),
    *("Command", "main"),
}
PRIVATE_WORDS = [
    *("asks again", "held back", "parted by", "half of the answers", "of 100 answers", "let go of", "never stored"),
    *("word by word", "how flat ranks count", "what the oldest memory keeps", "least confidence that comes back"),
    *("journey", "twin", "rivals", "kept back", "tune part", "holdout part", "drawn from traces", "words unknown"),
    *("recall_late_retrievers", "asked_by", "asked_at", "of_whom", "of_what", "unmet"),
]
# In the names of tests; as whole words.
PRIVATE_IN_TESTS = [
    *("held_back", "kept_back", "asked_again", "asks_again", "asked_live", "is_late", "late_retriever", "moment"),
    *("walls?", "number_of_questions", "told_in", "told_with", "journeys?", "twins?", "rivals?"),
]
PRIVATE_FIELDS = {
    *("chance", "late", "never_stored", "asks_again", "held_by", "invented", "outside", "told"),
    *("part", "marks", "asked_by", "asked_at", "ask", "words", "draw"),
    *("word_power", "word_before", "word_window", "word_met", "abstain_unmet"),
}
# Names that must not return in code: variables, attributes, parameters, functions, and keys spelt as strings.
PRIVATE_NAMES = {
    *("asks_again", "asked_again", "never_stored", "newly_silent", "held_by", "kept_lists", "let_go"),
    "best_turn_routes",
    *("of_whom", "of_what", "unmet", "marks", "asked_by", "asked_at"),
    *("word_power", "word_before", "word_window", "word_met", "abstain_unmet", "recall_late_retrievers"),
    *("furnish", "furnished", "poured", "heard", "twin", "rivals", "late_retrievers"),
}


def modules(*packages: str) -> list[tuple[Path, ast.Module]]:
    """Every module but migrations, parsed."""
    return [module for package in packages for module in modules_of(package)]


@cache
def modules_of(package: str) -> list[tuple[Path, ast.Module]]:
    """The modules of one package."""
    paths = [path for path in sorted((ROOT / package).rglob("*.py")) if "migrations" not in path.parts]
    return [(path.relative_to(ROOT), ast.parse(path.read_text())) for path in paths]


def is_participle(name: str) -> bool:
    """Whether a name is one past participle."""
    word = name.strip("_").lower()
    return word in PARTICIPLES or ("_" not in word and word.endswith("ed") and word not in VERBS_IN_ED)


def test_no_function_is_named_by_a_participle() -> None:
    names = [
        f"{path}: {node.name}"
        for path, tree in modules(*PACKAGES, "tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and is_participle(node.name)
        and not is_property(node)
        and node.name not in PRESCRIBED
    ]
    assert names == []


def test_no_test_is_named_by_a_private_word() -> None:
    pattern = re.compile(rf"_({'|'.join(PRIVATE_IN_TESTS)})(_|$)")
    names = [
        f"{path}: {node.name}"
        for path, tree in modules("tests")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and pattern.search(node.name)
    ]
    assert names == []


def is_property(node: ast.FunctionDef) -> bool:
    """A property is read like a value, so it may be an adjective: `changed`, `expired`."""
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


def test_no_top_level_name_is_defined_twice() -> None:
    places = defaultdict(list)
    for path, tree in modules(*PACKAGES):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in ROLES:
                places[node.name].append(str(path))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def names(tree: ast.Module) -> Iterator[str]:
    """All names of a module, and its strings."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Constant(value=str(name)):
                yield name


def test_no_private_name_returns() -> None:
    found = {str(path): sorted(PRIVATE_NAMES & set(names(tree))) for path, tree in modules(*PACKAGES, "benchmarks")}
    assert {path: names for path, names in found.items() if names} == {}


def test_no_colour_of_the_pages_has_a_private_name() -> None:
    pattern = re.compile(r"(--|\bf-|\$)(words|time|paths|meaning)\b")
    files = [*(ROOT / "static").glob("*.css"), *(ROOT / "static").glob("*.js"), *(ROOT / "templates").rglob("*.html")]
    assert [path.name for path in files if pattern.search(path.read_text())] == []


def imports_of_test_modules(source: str) -> list[str]:
    """The test modules that a module imports."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
    return [name for name in names if any(part.startswith("test_") for part in name.split("."))]


@pytest.mark.parametrize(
    "line",
    [
        "from tests.models.test_rows import row",
        "from tests.models import test_rows",
        "from . import test_rows",
        "from .test_rows import row",
        "import tests.models.test_rows",
        "import test_rows",
    ],
)
def test_an_import_of_a_test_module_is_noticed(line: str) -> None:
    assert imports_of_test_modules(f"def helper():\n    {line}") != []


def test_no_module_imports_a_test_module() -> None:
    """What tests share lives in `tests/support`."""
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if (names := imports_of_test_modules(path.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize("word", PRIVATE_WORDS)
def test_no_template_uses_a_private_word(word: str) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    templates = (ROOT / "templates").rglob("*.html")
    assert [path.name for path in templates if pattern.search(path.read_text())] == []


@pytest.fixture(scope="module")
def schema() -> dict[str, object]:
    """The OpenAPI document."""
    document: dict[str, object] = SchemaGenerator().get_schema(request=None, public=True)
    return document


def texts(node: object) -> Iterator[str]:
    """All descriptions, summaries and titles."""
    if isinstance(node, dict):
        yield from (text for key in ("description", "summary", "title") if isinstance(text := node.get(key), str))
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)


def fields(node: object) -> Iterator[str]:
    """The names of all properties."""
    if isinstance(node, dict):
        properties = node.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        for value in node.values():
            yield from fields(value)
    elif isinstance(node, list):
        for value in node:
            yield from fields(value)


def addresses(document: dict[str, object]) -> set[str]:
    """The segments of all paths."""
    paths = document["paths"]
    assert isinstance(paths, dict)
    return {segment for path in paths for segment in path.split("/")}


def parameters(node: object) -> Iterator[str]:
    """The names of all parameters of the query string."""
    if isinstance(node, dict):
        if node.get("in") == "query":
            yield str(node["name"])
        for value in node.values():
            yield from parameters(value)
    elif isinstance(node, list):
        for value in node:
            yield from parameters(value)


@pytest.mark.parametrize("word", PRIVATE_WORDS)
def test_no_text_of_the_api_uses_a_private_word(schema: dict[str, object], word: str) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    assert [text for text in texts(schema) if pattern.search(text)] == []


def test_no_field_of_the_api_has_a_private_name(schema: dict[str, object]) -> None:
    assert sorted(PRIVATE_FIELDS & {*fields(schema), *parameters(schema), *addresses(schema)}) == []
