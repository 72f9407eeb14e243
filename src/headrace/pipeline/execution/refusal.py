"""Views that DataFusion must not run are known before anything runs."""

from collections.abc import Mapping

from headrace.errors import ViewRefusedError
from headrace.pipeline.bundle.bundle import Bundle
from headrace.pipeline.execution.decision import Action, Decision


def check_refusals(bundle: Bundle, decisions: Mapping[str, Decision]) -> None:
    """Refuse a run on DataFusion of a view that it would compute differently from Spark.

    Raises:
        ViewRefusedError: with every such view, and where in its text the reason stands.
    """
    refusals = {
        name: reason
        for name, decision in decisions.items()
        if decision.action is Action.RUN and (reason := bundle[name].refused) is not None
    }
    if refusals:
        raise ViewRefusedError(refusals=refusals)
