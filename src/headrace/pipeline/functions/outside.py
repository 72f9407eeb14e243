"""Classifies the names by which code depends on more than code: files, the clock, randomness.

*Dynamic* names reach code by a computed name: all of the project's Python is included. *Textual*
names read source text: comments are included. *Foreign* names depend on the outside world, which
nothing proves to be unchanged.
"""

import ast
import os
import re
import sys
from collections.abc import Container, Iterable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from headrace.pipeline.functions.standard_library import within_other


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

VALUES = {
    "sys.platform": sys.platform,
    "os.name": os.name,
    "sys.byteorder": sys.byteorder,
    **dict.fromkeys(("sys.version", "sys.version_info", "sys.hexversion"), sys.version),
    "sys.implementation": f"{sys.implementation.name} {sys.version}",
}
"""Facts about the machine that can be part of a fingerprint."""

_CLOCK, _CHANCE = "the clock", "chance"
_NETWORK, _PROCESS = "the network", "other processes"
_MACHINE = "the machine that it runs on"

_DYNAMIC = frozenset(
    {
        *("exec", "eval", "compile", "globals", "locals", "vars", "__import__", "__builtins__"),
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
            *("numpy.empty", "numpy.empty_like", "torch.rand", "torch.randn", "torch.randint"),
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
            *("pathlib.Path.cwd", "locale", "sys.getrefcount", "pyarrow.cpu_count"),
            *("pyarrow.total_allocated_bytes", "pyarrow.default_memory_pool", "breakpoint"),
            *("hashlib.algorithms_available", "zlib.ZLIB_RUNTIME_VERSION"),
            *("pyarrow.io_thread_count", "pyarrow.system_memory_pool", "__main__"),
        ),
        _MACHINE,
    ),
    **dict.fromkeys(("importlib.metadata", "pkg_resources"), "the packages that are installed"),
    **dict.fromkeys(
        (
            *("pkgutil.get_data", "linecache.getline", "linecache.getlines", "__loader__"),
            *("__spec__", "importlib.machinery", "importlib.util", "importlib.abc"),
        ),
        "a file",
    ),
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
_CHANCE_METHODS = {
    "sample": frozenset({"pandas", "polars"}),
    "shuffle": frozenset({"polars"}),
    "samples": frozenset({"statistics"}),
    "rvs": frozenset({"scipy"}),
}
"""The methods that choose at random without a seed, and the packages whose objects have them."""
_SEEDS = frozenset({"random_state", "seed"})
_SQL_OUTSIDE = re.compile(r"random|'now'|current_|attach|readfile", re.IGNORECASE)
_LOCAL_TIMES = {"astimezone": 0, "timestamp": 0, "fromtimestamp": 1, "mktime": 1}
"""The methods that use the local time zone if they have no more arguments than this."""
LOCAL_ZONE = "the local time zone"

DYNAMIC_ATTRIBUTES = frozenset(
    {
        *("__globals__", "__subclasses__", "__code__", "__closure__"),
        *("f_globals", "f_back", "f_locals"),
    }
)
TEXTUAL_ATTRIBUTES = frozenset(
    {
        *("__doc__", "co_firstlineno", "f_lineno", "tb_lineno", "__firstlineno__", "lineno"),
        *("__traceback__", "__cached__"),
    }
)
FOREIGN_ATTRIBUTES = {
    "__hash__": _CHANCE,
    "__builtins__": "any name of Python",
    "f_builtins": "any name of Python",
    "__loader__": "a file",
    "__spec__": "a file",
}
"""The attributes that lead from any object to something outside the code."""
FOREIGN_TEXTS = frozenset({"__builtins__", "__import__", "__loader__"})
"""The texts with which a dynamic look-up reaches something outside the code."""
_COMPUTE_CALLERS = frozenset({"pyarrow.compute.call_function", "pyarrow.compute.get_function"})


def judge_name(dotted: str, *, literal: str | None = None) -> tuple[Reach, str] | None:
    """Return what the use of a name of Python or a package makes a function depend on.

    The second element describes it: the name itself, or what is outside the code. None if the use
    has no such effect.

    Args:
        dotted: The full name.
        literal: The string that it is called with, if that is a constant.
    """
    parts = dotted.split(".")
    if parts[-1] in _CLOCK_METHODS:
        return Reach.FOREIGN, _CLOCK
    if dotted in _COMPUTE_CALLERS and literal in {None, "random"}:
        return Reach.FOREIGN, _CHANCE
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in _FOREIGN:
            return Reach.FOREIGN, _FOREIGN[name]
        if name in _TEXTUAL:
            return Reach.TEXTUAL, name
        if name in _DYNAMIC and not dotted.startswith("importlib.resources"):
            return Reach.DYNAMIC, name
    return _judge_value(dotted, literal)


def _judge_value(dotted: str, literal: str | None) -> tuple[Reach, str] | None:
    """Return what the use of a name as a value implies: other names may be reached from it."""
    if dotted in _FOREIGN_MODULES:
        return Reach.FOREIGN, f"any name of {dotted}, such as {_FOREIGN_MODULES[dotted]}"
    if dotted in _DYNAMIC_MODULES:
        return Reach.DYNAMIC, f"any name of {dotted}, such as {_DYNAMIC_MODULES[dotted]}"
    if (inner := within_other(dotted)) is not None:
        return judge_name(inner, literal=literal)
    if not {"__dict__", "__getattribute__"}.isdisjoint(dotted.split(".")):
        return Reach.FOREIGN, f"any name of {dotted.partition('.')[0]}"
    return None


def clock_method(node: ast.AST, own: Container[str] = ()) -> ast.expr | None:
    """Return the method of a call if it has the name of one that reads the clock.

    Args:
        node: The syntax.
        own: The methods that the surrounding class defines itself.
    """
    match node:
        case ast.Call(
            func=ast.Attribute(value=value, attr=name) as method, args=given, keywords=options
        ):
            is_own = name in own and isinstance(value, ast.Name) and value.id in {"self", "cls"}
            is_clock = name in _CLOCK_METHODS and len(given) + len(options) <= 1
            return method if is_clock and not is_own else None
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]):
            return node if name in _CLOCK_METHODS else None
        case ast.Call(args=[ast.Constant(value=str(name))], func=caller):
            is_caller = ast.unparse(caller).endswith(("methodcaller", "attrgetter"))
            return node if is_caller and name in _CLOCK_METHODS else None
        case _:
            return None


def clock_text(node: ast.AST, packages: Container[str]) -> str | None:
    """Return a text that one of the imported packages converts to the current time, or None."""
    match node:
        case ast.Constant(value=str(text)) if text.casefold() in _CLOCK_TEXTS:
            return text if any(package in packages for package in _CLOCK_READERS) else None
    return None


def chance_text(node: ast.AST, packages: Container[str]) -> str | None:
    """Return a method or an SQL text whose result depends on chance or on other data, or None."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), keywords=options):
            is_seeded = any(option.arg in _SEEDS for option in options)
            makers = _CHANCE_METHODS.get(name, frozenset())
            return name if not is_seeded and any(maker in packages for maker in makers) else None
        case ast.Constant(value=str(text)) if "sqlite3" in packages:
            return text if _SQL_OUTSIDE.search(text) else None
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
