import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace import errors
from headrace.errors import HeadraceError, ObjectNotFoundError, UnknownColumnError


def tree(kind: type[HeadraceError] = HeadraceError) -> Iterator[type[HeadraceError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__.startswith("headrace."):
            yield from tree(below)


@pytest.mark.parametrize("kind", list(tree()), ids=lambda kind: kind.__name__)
def test_every_error_is_exported_and_drawn_in_the_tree_with_its_code(
    kind: type[HeadraceError],
) -> None:
    assert kind.__name__ in errors.__all__
    drawn = next(line for line in errors.__doc__.splitlines() if f" {kind.__name__}" in line)
    if "code" in kind.__dict__ and kind is not HeadraceError:
        assert drawn.split()[-1] == kind.code


def test_error_codes_are_unique() -> None:
    codes = [kind.code for kind in tree() if "code" in kind.__dict__]
    assert sorted(codes) == sorted(set(codes))


def test_an_error_survives_pickling() -> None:
    error = UnknownColumnError(column="citty", known=["city", "day"])
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.fields) == (str(error), error.fields)


def test_errors_are_defined_in_their_room() -> None:
    """An error that is defined elsewhere would be missing in the tree above, and in the docs."""
    package = Path(errors.__file__).parent.parent
    for module in package.rglob("*.py"):
        if package / "errors" in module.parents:
            continue
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
                assert not bases & {*errors.__all__}, f"{module}: {node.name}"


def test_an_error_hides_the_signature_of_an_address() -> None:
    error = ObjectNotFoundError(path="https://store.example/x.parquet?sv=2024&sig=secret")
    assert "https://store.example/x.parquet?…" in str(error)
    assert "secret" not in f"{error!s} {error!r} {error.fields}"
    assert error.path.endswith("sig=secret")
