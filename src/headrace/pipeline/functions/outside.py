"""Classifies the names by which code depends on more than code: files, the clock, randomness.

*Dynamic* names reach code by a computed name: all of the project's Python is included. *Textual*
names read source text: comments are included. *Foreign* names depend on the outside world, which
nothing proves to be unchanged.
"""

import ast
import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path


class Reach(StrEnum):
    """What a name makes a function depend on."""

    DYNAMIC = "dynamic"
    TEXTUAL = "textual"
    FOREIGN = "foreign"


ENVIRONMENT = frozenset(
    {"os.environ", "os.environ.get", "os.environ.__getitem__", "os.getenv", "os.environ.setdefault"}
)
"""With a literal name, the variable's value is included; otherwise they are foreign."""

IMPORTERS = frozenset({"importlib.import_module", "__import__"})
"""With a literal name, they are imports; otherwise they are dynamic."""

VALUES = {"sys.platform": sys.platform, "os.name": os.name, "sys.byteorder": sys.byteorder}
"""Facts about the machine that can be part of a fingerprint."""

_CLOCK, _CHANCE = "the clock", "chance"
_NETWORK, _PROCESS = "the network", "other processes"
_MACHINE = "the machine that it runs on"

_DYNAMIC = frozenset(
    {
        *("exec", "eval", "compile", "globals", "locals", "vars", "__import__", "__builtins__"),
        *("__spec__", "__loader__"),
        *("builtins", "importlib", "runpy", "imp", "pkgutil", "zipimport", "site"),
        *("sys.modules", "sys.path", "sys.meta_path", "sys.path_hooks", "sys.setprofile"),
        *("sys.settrace", "gc", "pickle", "marshal", "shelve", "dill", "cloudpickle", "copyreg"),
        *("types.FunctionType", "types.CodeType", "types.ModuleType", "types.LambdaType", "code"),
    }
)
_TEXTUAL = frozenset(
    {
        *("inspect", "traceback", "linecache", "tokenize", "sys._getframe", "sys.exc_info"),
        *("sys._current_frames", "__doc__", "pydoc", "doctest"),
    }
)
_FOREIGN = {
    **dict.fromkeys(
        (
            *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.ctime"),
            *("time.perf_counter", "time.perf_counter_ns", "time.process_time", "time.localtime"),
            *("time.gmtime", "time.asctime", "time.strftime", "time.process_time_ns"),
            *("pyspark.sql.functions.now", "pyspark.sql.functions.current_timestamp"),
            *("pyspark.sql.functions.current_date", "pyspark.sql.functions.localtimestamp"),
            "pyspark.sql.functions.unix_timestamp",
        ),
        _CLOCK,
    ),
    **dict.fromkeys(
        (
            *("random", "secrets", "uuid.uuid1", "uuid.uuid4", "os.urandom", "numpy.random"),
            *("hash", "id", "pyarrow.compute.random", "faker"),
            *("pyspark.sql.functions.rand", "pyspark.sql.functions.randn"),
            *("pyspark.sql.functions.uuid", "pyspark.sql.functions.shuffle"),
            *("pyspark.sql.functions.monotonically_increasing_id", "os.getrandom"),
            *("pyspark.sql.functions.spark_partition_id", "pyspark.sql.functions.randstr"),
            *("pyspark.sql.functions.uniform", "pyspark.sql.functions.input_file_name"),
        ),
        _CHANCE,
    ),
    **dict.fromkeys(
        (
            *("socket", "ssl", "urllib.request", "http", "ftplib", "smtplib", "imaplib", "xmlrpc"),
            *("requests", "httpx", "aiohttp", "urllib3", "boto3", "fsspec", "s3fs", "gcsfs"),
            *("obstore", "pyarrow.fs", "pyarrow.flight", "psycopg", "psycopg2", "sqlalchemy"),
            *("duckdb", "deltalake"),
            *("websockets", "grpc", "paramiko", "redis", "pymongo", "pymysql", "MySQLdb", "pyodbc"),
            *("oracledb", "asyncpg", "snowflake", "trino", "clickhouse_connect", "elasticsearch"),
            *("botocore", "adlfs", "google.cloud", "azure.storage", "kafka", "confluent_kafka"),
            *("huggingface_hub", "datasets"),
        ),
        _NETWORK,
    ),
    **dict.fromkeys(
        (
            *("headrace.Table", "headrace.table", "headrace.pipeline.Project", "headrace.serve"),
            *("headrace.spark", "headrace.wiring", "headrace.pipeline.api", "delta", "pyiceberg"),
            *("datafusion", "ibis", "pyspark.SparkContext", "pyspark.sql.SparkSession.builder"),
            *("pyspark.sql.SparkSession.getActiveSession", "pyspark.sql.SparkSession.active"),
        ),
        "data that is no source of the project",
    ),
    **dict.fromkeys(
        (
            *("subprocess", "os.system", "os.popen", "os.execv", "os.fork", "os.posix_spawn"),
            *("multiprocessing", "concurrent.futures.ProcessPoolExecutor", "signal"),
        ),
        _PROCESS,
    ),
    **dict.fromkeys(
        (
            *("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv"),
            *("os.getcwd", "os.getpid", "os.getppid", "os.getlogin", "os.uname", "os.cpu_count"),
            *("os.getuid", "os.getgid", "os.getloadavg", "os.path.expanduser", "ctypes", "cffi"),
            *("os.path.expandvars", "platform", "getpass", "pwd", "grp", "tempfile", "resource"),
            *("sys.argv", "sys.stdin", "sys.flags", "sys.executable", "sys.getsizeof"),
            *("input", "psutil", "threading.get_ident", "pathlib.Path.home"),
            *("pathlib.Path.cwd", "locale", "sys.getrefcount"),
        ),
        _MACHINE,
    ),
    **dict.fromkeys(("importlib.metadata", "pkg_resources"), "the packages that are installed"),
    **dict.fromkeys(("pkgutil.get_data", "linecache.getline", "linecache.getlines"), "a file"),
}
_CLASSES = frozenset({"pathlib.Path", "os.environ"})


def _modules_of(names: Iterable[str]) -> dict[str, str]:
    """Return the modules that contain names, each with the first such name."""
    modules: dict[str, str] = {}
    for name in sorted(names):
        parts = name.split(".")
        for end in range(1, len(parts)):
            module = ".".join(parts[:end])
            if module not in _CLASSES:
                modules.setdefault(module, name)
    return modules


_FOREIGN_MODULES = _modules_of(_FOREIGN)
_DYNAMIC_MODULES = _modules_of(_DYNAMIC)
"""A module that is used as a value (`getattr(os, name)`) can return any of its names."""
_CLOCK_METHODS = frozenset({"now", "utcnow", "today"})
_CLOCK_TEXTS = frozenset({"now", "today"})
_CLOCK_READERS = frozenset({"numpy", "pandas", "polars", "dateutil"})
"""The packages that convert the texts `now` and `today` to the current time."""
_LOCAL_TIMES = {"astimezone": 0, "timestamp": 0, "fromtimestamp": 1, "mktime": 1}
"""The methods that use the local time zone if they have no more arguments than this."""
LOCAL_ZONE = "the local time zone"

DYNAMIC_ATTRIBUTES = frozenset(
    {
        *("__globals__", "__builtins__", "__subclasses__", "__code__", "__closure__"),
        *("__loader__", "__spec__", "f_globals", "f_back", "f_locals"),
    }
)
TEXTUAL_ATTRIBUTES = frozenset(
    {
        *("__doc__", "co_firstlineno", "f_lineno", "tb_lineno", "__firstlineno__", "lineno"),
        *("__traceback__", "__cached__"),
    }
)


def judge_name(dotted: str, *, literal: str | None = None) -> tuple[Reach, str] | None:
    """Return what the use of a name of Python or a package makes a function depend on.

    The second element describes it: the name itself, or what is outside the code. None if the use
    has no such effect.

    Args:
        dotted: The full name.
        literal: The string that it is called with, if that is written out.
    """
    parts = dotted.split(".")
    is_clock_text = literal is not None and literal.casefold() in _CLOCK_TEXTS
    if parts[-1] in _CLOCK_METHODS or (is_clock_text and parts[0] in _CLOCK_READERS):
        return Reach.FOREIGN, _CLOCK
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in _FOREIGN:
            return Reach.FOREIGN, _FOREIGN[name]
        if name in _TEXTUAL:
            return Reach.TEXTUAL, name
        if name in _DYNAMIC and not dotted.startswith("importlib.resources"):
            return Reach.DYNAMIC, name
    if dotted in _FOREIGN_MODULES:
        return Reach.FOREIGN, f"any name of {dotted}, such as {_FOREIGN_MODULES[dotted]}"
    if dotted in _DYNAMIC_MODULES:
        return Reach.DYNAMIC, f"any name of {dotted}, such as {_DYNAMIC_MODULES[dotted]}"
    return None


def clock_method(node: ast.AST) -> ast.expr | None:
    """Return the method that a call calls if it is named like those that read the clock."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=value, attr=name) as method, args=given, keywords=options
        ):
            is_own = isinstance(value, ast.Name) and value.id in {"self", "cls"}
            is_clock = name in _CLOCK_METHODS and len(given) + len(options) <= 1
            return method if is_clock and not is_own else None
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return node if name in _CLOCK_METHODS else None
        case ast.Call(args=[ast.Constant(value=str(name))], func=caller):
            is_caller = ast.unparse(caller).endswith(("methodcaller", "attrgetter"))
            return node if is_caller and name in _CLOCK_METHODS else None
        case _:
            return None


def uses_local_zone(node: ast.AST) -> bool:
    """Return whether a call converts times by the local time zone."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), keywords=[], args=given):
            return len(given) <= _LOCAL_TIMES.get(name, -1)
        case _:
            return False


def digest_local_zone() -> str:
    """Return a hash of the rules of the local time zone."""
    name = os.environ.get("TZ")
    rules = Path("/etc/localtime")
    content = rules.read_bytes() if name is None and rules.is_file() else b""
    return sha256(f"{name} ".encode() + content).hexdigest()
