"""Changes to the surroundings of a view: the time, the session, settings, its table."""

from tests.pipeline.mutations.mutation import (
    NONE,
    OTHER,
    SAME,
    K,
    Mutation,
    add_days,
    add_view,
    edit_manifest,
    edit_sql,
    in_turn,
    nothing,
    set_spark,
)

_VOLATILE = (
    *("current_timestamp()", "now()", "current_date()", "curdate()", "localtimestamp()"),
    *("current_time()", "localtime()", "unix_timestamp()", "TIMESTAMP 'now'", "TIMESTAMP_NTZ'now'"),
    *("DATE 'today'", "DATE'Tomorrow'", "CAST('yesterday' AS DATE)", "to_date(' today ')"),
    *("day = 'today'", "rand()", "randn(7)", "random()", "uniform(0, 9)", "randstr(3)"),
    *("shuffle(array(1, 2))", "uuid()", "monotonically_increasing_id()", "spark_partition_id()"),
    *("input_file_name()", "input_file_block_start()", "input_file_block_length()"),
    *("current_user()", "current_user", "session_user()", "user()", "user", "current_database()"),
    *("current_schema()", "current_catalog()", "current_path()", "current_timezone()", "version()"),
    *("reflect('java.util.UUID', 'randomUUID')", "try_reflect('java.util.UUID', 'randomUUID')"),
    *("java_method('java.util.UUID', 'randomUUID')", "'${env:HOME}'"),
)
_STABLE = (
    "TIMESTAMP 'epoch'",
    "DATE '2024-01-01'",
    "'now'",
    "unix_timestamp(TIMESTAMP '2024-01-01')",
)
CLOCK_AND_SESSION = [
    *(
        Mutation(
            f"`{call}`, and nothing else",
            nothing,
            SAME,
            NONE,
            SAME,
            (K.VOLATILE, "each run" if "$" not in call else "use a variable"),
            view="v",
            before=in_turn(add_days, add_view(f"SELECT {call} AS x FROM days")),
        )
        for call in _VOLATILE
    ),
    Mutation(
        "TABLESAMPLE, and nothing else",
        nothing,
        SAME,
        NONE,
        SAME,
        (K.VOLATILE, "TABLESAMPLE"),
        view="v",
        before=add_view("SELECT * FROM weather TABLESAMPLE (50 PERCENT)"),
    ),
    *(
        Mutation(
            f"`{call}`, and nothing else",
            nothing,
            SAME,
            SAME,
            SAME,
            view="v",
            before=add_view(f"SELECT {call} AS x FROM weather"),
        )
        for call in _STABLE
    ),
]

SETTINGS = [
    Mutation(
        "time zone",
        edit_manifest('"UTC"', '"Europe/Zurich"'),
        OTHER,
        OTHER,
        OTHER,
        (K.SETTING, "setting time_zone was UTC and is Europe/Zurich"),
    ),
    Mutation(
        "ANSI mode",
        edit_manifest("[settings]", "[settings]\nansi = false"),
        OTHER,
        OTHER,
        OTHER,
        (K.SETTING, "setting ansi was true and is false"),
    ),
    Mutation(
        "variable",
        edit_manifest("least = 10", "least = 11"),
        OTHER,
        OTHER,
        OTHER,
        (K.VARIABLE, "variable least was int:10 and is int:11"),
    ),
    Mutation(
        "profile",
        edit_manifest("[settings]", "[profiles.dev]\nparallelism = 4\n\n[settings]"),
        SAME,
        SAME,
        SAME,
    ),
    Mutation("unrelated variable", edit_manifest('"unused"', '"x"'), SAME, SAME, SAME),
    Mutation(
        "setting of Spark that changes how literals are read",
        set_spark("spark.sql.parser.escapedStringLiterals", "true"),
        OTHER,
        OTHER,
        OTHER,
        (
            K.SETTING,
            "setting spark.sql.parser.escapedStringLiterals was not set and is true",
        ),
        profile="tuned",
    ),
    Mutation(
        "setting of Spark that nobody knows",
        set_spark("spark.sql.some.thing", "1"),
        OTHER,
        OTHER,
        OTHER,
        (K.SETTING, "setting spark.sql.some.thing was not set and is 1"),
        profile="tuned",
    ),
    Mutation(
        "setting of Spark that is known to be harmless",
        set_spark("spark.sql.autoBroadcastJoinThreshold", "-1"),
        SAME,
        SAME,
        SAME,
        profile="tuned",
    ),
    Mutation(
        "setting of Spark that is not about SQL",
        set_spark("spark.executor.memory", "4g"),
        SAME,
        SAME,
        SAME,
        profile="tuned",
    ),
    Mutation(
        "setting of Spark in a profile that is not used",
        set_spark("spark.sql.parser.escapedStringLiterals", "true"),
        SAME,
        SAME,
        SAME,
    ),
]

WRITING = [
    Mutation(
        "way of writing",
        edit_sql("@materialise output", "@materialise output\n-- @write append\n-- @append all"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting write was overwrite and is append"),
    ),
    Mutation(
        "partitioning of the output",
        edit_sql("@materialise output", "@materialise output\n-- @partition_by name"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting partition_by was not set and is name"),
    ),
    Mutation(
        "keys of the output",
        edit_sql("@materialise output", "@materialise output\n-- @keys name"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting keys was not set and is name"),
    ),
    Mutation(
        "change feed of the output",
        edit_sql("@materialise output", "@materialise output\n-- @change_feed true"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting change_feed was false and is true"),
    ),
    Mutation(
        "what becomes of the rows",
        edit_sql("@materialise output", "@materialise memory"),
        SAME,
        OTHER,
        OTHER,
        (K.SETTING, "setting materialise was output and is memory"),
    ),
    Mutation(
        "tier of a view",
        edit_sql("@materialise output", "@materialise output\n-- @tier CANONICAL"),
        SAME,
        SAME,
        OTHER,
    ),
]
