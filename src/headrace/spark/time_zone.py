"""The time zone of timestamps without one: on Spark, that of the session.

Spark plans a Python data source in a process that does not know the session's settings; its tasks
know them. So a condition that depends on the zone prunes no files during planning, unless the
option `timeZone` sets the zone. It filters rows in the zone of the task.
"""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

import msgspec
from pyspark import TaskContext

from headrace.errors import InvalidArgumentError
from headrace.expr.bind import bind, unbind
from headrace.expr.node import Basis, BoundPredicate, Predicate
from headrace.expr.parse import parse_predicate
from headrace.protocol.cast import UnrepresentableError, parse_offset
from headrace.protocol.schema import StructType

_SETTING = "spark.sql.session.timeZone"
_LIKE_UTC = ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "UCT")


class ZonedCondition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition as written, and the columns that it uses. It can be pickled."""

    text: str
    schema: StructType
    partition_columns: tuple[str, ...]
    time_zone: str | None
    """The zone that the option names; None for the session's."""

    def planned(self) -> Predicate:
        """Return the condition for planning, without parts that depend on the session's zone."""
        zone = None if self.time_zone is None else parse_zone(self.time_zone)
        return unbind(self._bound(zone))

    @property
    def waits_for_zone(self) -> bool:
        """Return whether only a task can evaluate the condition completely."""
        return self.time_zone is None and str(self._bound(None)) != str(self._bound(UTC))

    def in_task(self) -> BoundPredicate:
        """Return the condition in the zone of the session that runs this task.

        Raises:
            InvalidArgumentError: the session does not set its zone.
        """
        return self._bound(_task_zone(self.text))

    def _bound(self, zone: tzinfo | None) -> BoundPredicate:
        return bind(
            parse_predicate(self.text),
            schema=self.schema,
            partition_columns=self.partition_columns,
            basis=Basis.VALUES,
            zone=zone,
        )


def parse_zone(name: str) -> tzinfo:
    """Return the zone of a name such as `Europe/Zurich`, or of an offset such as `+01:00`.

    Raises:
        InvalidArgumentError: there is no such zone.
    """
    if name in _LIKE_UTC:
        return UTC
    try:
        try:
            return parse_offset(name or "none")
        except UnrepresentableError:
            return ZoneInfo(name)
    except (ValueError, KeyError, OSError) as error:
        reason = f"there is no time zone {name!r}"
        raise InvalidArgumentError(argument="timeZone", reason=reason) from error


def _task_zone(where: str) -> tzinfo:
    context = TaskContext.get()
    name = None if context is None else context.getLocalProperty(_SETTING)
    if name is None:
        reason = (
            f"{where!r} compares times that name no zone, and the session does not set its own; "
            f"set the option timeZone, or {_SETTING}, or write the zone into the condition"
        )
        raise InvalidArgumentError(argument="where", reason=reason)
    return parse_zone(name)
