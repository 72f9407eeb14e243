"""The files beside this module: a template, style sheets, a script."""

from importlib.resources import files


def resource(name: str) -> str:
    """The text of one of them."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
