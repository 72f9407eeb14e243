"""Every table over the file of a case, read by Arrow: whole, filtered, limited, counted."""

from pathlib import Path

from tests.listing import open_snapshot
from tests.matrix.case import FILE, Case, Condition, conditions, layouts
from tests.rows.naive import bag

EVERYTHING = Condition("TRUE", lambda _: True)


def check_every_table(folder: Path, case: Case) -> None:
    """Check that each table has the rows of the case."""
    for layout in layouts(case):
        snapshot = open_snapshot(layout.write(folder, FILE))
        expected = layout.rows(case)
        names = list(layout.names.values())
        for condition in (EVERYTHING, *conditions(case)):
            matching = [layout.renamed(row) for row in expected if condition.keeps(row)]
            where = layout.condition(condition)
            rows = snapshot.rows(where).read_all()
            assert bag(rows.to_pylist(), names) == bag(matching, names), (layout.name, where)
            assert rows.schema == snapshot.schema
            assert snapshot.count(where) == len(matching)
            few = snapshot.rows(where, limit=1, columns=[layout.names["id"]]).read_all()
            assert few.num_rows == min(1, len(matching))
