"""Tables that Spark's Delta writes: statements, with one commit each, and conditions to query."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """The statements that create a table, and the conditions to query besides the whole table."""

    name: str
    sql: str
    """Statements separated by semicolons; `{t}` is the table, `{path}` its folder."""
    conditions: tuple[str, ...] = ()

    def statements(self, table: str) -> list[str]:
        """Return the statements that create a table at this address."""
        sql = self.sql.replace("{t}", f"delta.`{table}`").replace("{path}", table)
        parts = sql.split(";\n")
        return [part.strip() for part in parts if part.strip()]


CASES = (
    Case(
        "deletion-vectors",
        """
        CREATE TABLE {t} (id BIGINT, name STRING, amount DOUBLE) USING delta
        TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');
        INSERT INTO {t} SELECT id, concat('n', id), id / 4 FROM range(0, 1000, 1, 2);
        DELETE FROM {t} WHERE id % 7 = 0;
        UPDATE {t} SET name = NULL WHERE id BETWEEN 100 AND 120;
        MERGE INTO {t} t USING (SELECT * FROM range(990, 1010)) s ON t.id = s.id
        WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id);
        DELETE FROM {t} WHERE id < 500;
        OPTIMIZE {t};
        """,
        (
            "id > 110 AND name IS NULL",
            "amount <= 200.5",
            "name LIKE 'n9%' OR id = 1005",
            "name LIKE '%9_'",
            "NOT (name LIKE 'n%5')",
        ),
    ),
    Case(
        "mapping-by-name",
        """
        CREATE TABLE {t} (
          id INT, s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<x: INT>>,
          m MAP<STRING, STRUCT<y: INT>>
        ) USING delta TBLPROPERTIES (
          'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true');
        INSERT INTO {t} SELECT
          CAST(id AS INT), struct(CAST(id AS INT), 'x'), array(struct(CAST(id AS INT)), NULL),
          map('k', struct(CAST(id AS INT)))
        FROM range(9);
        INSERT INTO {t} VALUES
          (NULL, NULL, NULL, NULL), (9, struct(NULL, NULL), array(), map());
        ALTER TABLE {t} RENAME COLUMN id TO number;
        ALTER TABLE {t} RENAME COLUMN s.b TO `odd name.with,dot`;
        ALTER TABLE {t} ADD COLUMNS (
          s.c DATE, l.element.z STRING, m.value.w INT, late STRING);
        INSERT INTO {t} VALUES (
          10, struct(1, 'y', DATE '2026-01-01'), array(struct(1, 'z')), map('k', struct(1, 2)),
          'now');
        ALTER TABLE {t} DROP COLUMN s.a;
        DELETE FROM {t} WHERE number = 3;
        """,
        ("number >= 8", "s.c IS NULL", "late = 'now'", "s IS NULL", "s.`odd name.with,dot` = 'x'"),
    ),
    Case(
        "mapping-by-id",
        """
        CREATE TABLE {t} (id INT, p STRING, s STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>)
        USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'id');
        INSERT INTO {t} SELECT
          CAST(id AS INT), concat('p', id % 3),
          struct(CAST(id AS INT), array(struct(concat('c', id))))
        FROM range(12);
        ALTER TABLE {t} RENAME COLUMN s.b TO list;
        ALTER TABLE {t} RENAME COLUMN p TO part;
        ALTER TABLE {t} DROP COLUMN id;
        ALTER TABLE {t} ADD COLUMNS (id STRING);
        INSERT INTO {t} (part, s, id) VALUES (NULL, NULL, 'text');
        """,
        ("part = 'p1'", "id = 'text'", "s.a > 5", "part IS NULL"),
    ),
    Case(
        "v2-checkpoints",
        """
        CREATE TABLE {t} (id BIGINT, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES (
          'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2',
          'delta.enableDeletionVectors' = 'true');
        INSERT INTO {t} SELECT id, CAST(id % 4 AS INT) FROM range(100);
        DELETE FROM {t} WHERE id % 10 = 3;
        INSERT INTO {t} SELECT id, CAST(id % 4 AS INT) FROM range(100, 200);
        DELETE FROM {t} WHERE p = 2;
        INSERT INTO {t} VALUES (1000, NULL);
        """,
        ("p = 1 AND id > 50", "p IS NULL", "NOT (p IN (0, 1))"),
    ),
    Case(
        "type-widening",
        """
        CREATE TABLE {t} (
          b BYTE, s SHORT, i INT, f FLOAT, d DECIMAL(6, 2), t DATE, n STRUCT<x: INT>,
          l ARRAY<SHORT>
        ) USING delta TBLPROPERTIES (
          'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported');
        INSERT INTO {t} VALUES
          (1, 2, 3, 0.1, 4.25, DATE '2026-03-01', struct(5), array(6S)),
          (-128, NULL, 2147483647, -0.0, -9999.99, DATE '1969-12-31', NULL, NULL);
        ALTER TABLE {t} ALTER COLUMN b TYPE INT;
        ALTER TABLE {t} ALTER COLUMN s TYPE BIGINT;
        ALTER TABLE {t} ALTER COLUMN i TYPE DOUBLE;
        ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE;
        ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(12, 4);
        ALTER TABLE {t} ALTER COLUMN t TYPE TIMESTAMP_NTZ;
        ALTER TABLE {t} ALTER COLUMN n.x TYPE BIGINT;
        ALTER TABLE {t} ALTER COLUMN l.element TYPE INT;
        INSERT INTO {t} VALUES (
          70000, 5000000000, 1.5D, 0.1D, 12345678.1234, TIMESTAMP_NTZ '2026-03-01 12:00:00',
          struct(5000000000L), array(70000));
        ALTER TABLE {t} ALTER COLUMN b TYPE DECIMAL(12, 2);
        INSERT INTO {t} (b) VALUES (0.25);
        """,
        ("b > 0.5", "f = 0.1D", "t >= TIMESTAMP_NTZ '2026-03-01 00:00:00'", "n.x = 5", "d < 0"),
    ),
    Case(
        "odd-partitions",
        """
        CREATE TABLE {t} (
          v INT, s STRING, d DATE, ts TIMESTAMP, n DECIMAL(8, 3), b BOOLEAN, bin BINARY
        ) USING delta PARTITIONED BY (s, d, ts, n, b, bin);
        INSERT INTO {t} VALUES
          (1, 'a/b=c d%20ü:?#', DATE '2026-01-01', TIMESTAMP '2026-01-01 01:02:03.456789', 1.5,
           true, X'4142'),
          (2, NULL, NULL, NULL, NULL, NULL, NULL),
          (3, '', DATE '0001-01-01', TIMESTAMP '1700-01-01 00:00:00', -0.001, false, X'');
        """,
        ("s = 'a/b=c d%20ü:?#'", "ts < TIMESTAMP '1800-01-01 00:00:00'", "n <= 0", "NOT b"),
    ),
    Case(
        "all-types",
        """
        CREATE TABLE {t} (
          y BYTE, h SHORT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(38, 18), t STRING,
          x BINARY, o BOOLEAN, a DATE, z TIMESTAMP, w TIMESTAMP_NTZ, v MAP<INT, ARRAY<STRING>>
        ) USING delta;
        INSERT INTO {t} VALUES (
          -128, -32768, -2147483648, -9223372036854775808L, float('NaN'), double('-Infinity'),
          -12345678901234567890.123456789012345678, 'ü\\n', X'00FF', false, DATE '0001-01-01',
          TIMESTAMP '0001-01-01 00:00:00', TIMESTAMP_NTZ '0001-01-01 00:00:00',
          map(1, array('a', NULL)));
        INSERT INTO {t} VALUES (
          127, 32767, 2147483647, 9223372036854775807L, -0.0F, double('NaN'),
          0.000000000000000001, '', X'', true, DATE '9999-12-31',
          TIMESTAMP '9999-12-31 23:59:59.999999', TIMESTAMP_NTZ '9999-12-31 23:59:59.999999',
          map());
        INSERT INTO {t} (i) VALUES (NULL);
        """,
        (
            "f > 1F",
            "d <> 5D",
            "f = 0D",
            "z < TIMESTAMP '1582-01-01 00:00:00'",
            "w >= TIMESTAMP_NTZ '9999-01-01 00:00:00'",
            "a IN (DATE '9999-12-31')",
            "m > 0",
            "l <=> NULL",
        ),
    ),
    Case(
        "hybrid-calendar",
        """
        SET spark.sql.parquet.datetimeRebaseModeInWrite = LEGACY;
        SET spark.sql.parquet.int96RebaseModeInWrite = LEGACY;
        CREATE TABLE {t} (a DATE, z TIMESTAMP) USING delta;
        INSERT INTO {t} VALUES
          (DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00'),
          (DATE '1000-02-28', TIMESTAMP '1000-02-28 12:34:56.789'),
          (DATE '1582-10-04', TIMESTAMP '1582-10-04 23:59:59.999999'),
          (DATE '1582-10-15', TIMESTAMP '1582-10-15 00:00:00');
        SET spark.sql.parquet.outputTimestampType = TIMESTAMP_MICROS;
        INSERT INTO {t} VALUES (DATE '1500-03-01', TIMESTAMP '1500-03-01 00:00:01');
        RESET spark.sql.parquet.datetimeRebaseModeInWrite;
        RESET spark.sql.parquet.int96RebaseModeInWrite;
        RESET spark.sql.parquet.outputTimestampType;
        """,
        ("a < DATE '1200-01-01'", "z >= TIMESTAMP '1582-10-04 12:00:00'"),
    ),
    # Without nulls, because PySpark cannot convert them to Arrow.
    Case(
        "variants",
        """
        CREATE TABLE {t} (id INT, v VARIANT, s STRUCT<v: VARIANT>) USING delta;
        INSERT INTO {t} SELECT
          1, parse_json('{"a": [1, 2.5, null]}'), struct(parse_json('"x"'));
        INSERT INTO {t} SELECT 2, parse_json('null'), struct(parse_json('true'));
        """,
        ("v IS NOT NULL", "id = 1"),
    ),
    Case(
        "shredded-variants",
        """
        CREATE TABLE {t} (id INT, v VARIANT) USING delta
        TBLPROPERTIES ('delta.enableVariantShredding' = 'true');
        SET spark.sql.variant.writeShredding.enabled = true;
        SET spark.sql.variant.forceShreddingSchemaForTest = a int, b string, z binary,
          c array<struct<d double, e decimal(9,2)>>, f struct<g timestamp, h date, i boolean>;
        INSERT INTO {t} SELECT id, parse_json(j) FROM VALUES
          (1, '{"a": 1, "b": "x", "c": [{"d": 1.5, "e": 2.25}, null, 7], "extra": {"q": [1, 2]},
                "f": {"g": "no", "h": null, "i": true}}'),
          (2, '[1, 2, 3]'), (3, '"text"'), (4, '{"a": "no number", "zz": 99999999999}'),
          (5, '{}'), (6, 'null'), (7, '{"f": {"x": 1}, "c": [], "a": -200}') AS s(id, j);
        INSERT INTO {t} SELECT 8, to_variant_object(named_struct(
          'a', 1, 'z', X'0102', 'c', array(named_struct('d', 1.25D, 'e', 12.50BD)),
          'f', named_struct('g', TIMESTAMP '2026-01-01 00:00:00', 'h', DATE '2026-01-02')));
        RESET spark.sql.variant.writeShredding.enabled;
        RESET spark.sql.variant.forceShreddingSchemaForTest;
        """,
        ("v IS NOT NULL AND id > 3",),
    ),
    Case(
        "restore-and-append",
        """
        CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES (
          'delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '3');
        INSERT INTO {t} SELECT id FROM range(50);
        DELETE FROM {t} WHERE id < 10;
        INSERT OVERWRITE {t} SELECT id FROM range(1000, 1010);
        RESTORE TABLE {t} TO VERSION AS OF 2;
        INSERT INTO {t} SELECT id FROM range(5);
        """,
        ("id < 20",),
    ),
    Case(
        "many-sidecars",
        """
        CREATE TABLE {t} (id BIGINT, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES (
          'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '3',
          'delta.enableDeletionVectors' = 'true');
        SET spark.databricks.delta.checkpoint.partSize = 3;
        INSERT INTO {t} SELECT id, CAST(id % 20 AS INT) FROM range(200);
        DELETE FROM {t} WHERE id % 9 = 4;
        DELETE FROM {t} WHERE p = 7;
        REORG TABLE {t} APPLY (PURGE);
        INSERT INTO {t} SELECT id, CAST(id % 3 AS INT) FROM range(200, 230);
        RESET spark.databricks.delta.checkpoint.partSize;
        """,
        ("p = 2 AND id > 50", "id BETWEEN 190 AND 210"),
    ),
    Case(
        "many-parts",
        """
        CREATE TABLE {t} (id BIGINT, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES (
          'delta.checkpointInterval' = '2', 'delta.enableDeletionVectors' = 'true');
        SET spark.databricks.delta.checkpoint.partSize = 4;
        INSERT INTO {t} SELECT id, CAST(id % 20 AS INT) FROM range(200);
        DELETE FROM {t} WHERE id % 9 = 4;
        INSERT INTO {t} SELECT id, CAST(id % 3 AS INT) FROM range(200, 230);
        UPDATE {t} SET id = -id WHERE p = 1;
        RESET spark.databricks.delta.checkpoint.partSize;
        """,
        ("p = 1 AND id < 0",),
    ),
    Case(
        "converted",
        """
        CREATE TABLE converted (id INT, p STRING, q DATE) USING parquet PARTITIONED BY (p, q)
        LOCATION '{path}';
        INSERT INTO converted VALUES
          (1, 'a b', DATE '2026-01-01'), (2, NULL, NULL), (3, '%41=/', DATE '1500-01-01');
        DROP TABLE converted;
        CONVERT TO DELTA parquet.`{path}` PARTITIONED BY (p STRING, q DATE);
        INSERT INTO {t} VALUES (4, NULL, DATE '2026-01-01');
        """,
        ("p IS NULL", "q = DATE '2026-01-01'", "p = '%41=/'"),
    ),
    Case(
        "clustered-and-tracked",
        """
        CREATE TABLE {t} (
          id BIGINT GENERATED ALWAYS AS IDENTITY, v VARCHAR(4), n INT NOT NULL,
          s STRUCT<k: INT>, twice INT GENERATED ALWAYS AS (n * 2)
        ) USING delta CLUSTER BY (n) TBLPROPERTIES (
          'delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true',
          'delta.dataSkippingStatsColumns' = 'n,s.k');
        INSERT INTO {t} (v, n, s) SELECT
          left(id, 3), CAST(id AS INT), struct(CAST(id AS INT)) FROM range(300);
        OPTIMIZE {t};
        UPDATE {t} SET v = 'x' WHERE n < 5;
        DELETE FROM {t} WHERE s.k > 290;
        """,
        ("n = 7", "s.k >= 289", "v = 'x'", "twice = 20"),
    ),
)
