"""Opens DataFusion sessions with the functions that translations rely on.

Planning, runs and lambda bodies all use these sessions.
"""

from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext

SETTINGS = {
    # Spark reads 0.05 as a decimal.
    "datafusion.sql_parser.parse_float_as_decimal": "true",
    # A plan must not depend on the number of cores.
    "datafusion.execution.target_partitions": "1",
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.sql_parser.recursion_limit": "500",
}


def translated_session(
    settings: dict[str, str], runtime: RuntimeEnvBuilder | None = None
) -> SessionContext:
    """Open a session with Spark's functions; `settings` are added to those of every session."""
    config = SessionConfig()
    for key, value in (SETTINGS | settings).items():
        config = config.set(key, value)
    context = SessionContext(config, runtime)
    context.enable_spark_functions()
    # DataFusion's Spark variant of `avg` turns decimals into doubles; Spark itself, and the plain
    # `avg` of DataFusion, do not.
    context.register_udaf(SessionContext().udaf("avg"))
    # These would replace the operators when a Substrait plan is read back.
    for name in ("like", "ilike"):
        context.deregister_udf(name)
    return context
