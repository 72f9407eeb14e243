"""Access to the driver's JVM: a few Java classes, compiled there by Spark's own compiler.

Their source is in `jvm_source/`. Spark has a Java compiler for its generated code; it compiles the
classes once per JVM, in memory. Only the driver has them.
"""

from importlib.resources import files
from threading import Lock
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

_PACKAGE = "headrace/spark"
_LOADING = Lock()
_frames: tuple[Any, Any] | None = None
"""The gateway to a JVM, and the object that was created there."""


def load_frames(spark: SparkSession) -> Any:
    """Return the Java object `Frames` of the session's JVM.

    Afterwards, the JVM can call Python.
    """
    global _frames  # noqa: PLW0603  (a process has one JVM, which outlives its sessions)
    gateway = spark.sparkContext._gateway  # noqa: SLF001  (PySpark has no public way to it)
    assert gateway is not None
    with _LOADING:
        _receive_callbacks(gateway)
        if _frames is None or _frames[0] is not gateway:
            _frames = (gateway, _compile(gateway.jvm))
        return _frames[1]


def _receive_callbacks(gateway: Any) -> None:
    """Make the JVM call this process.

    A JVM calls only one process, but several can use it: notebook servers connect all notebooks to
    one gateway. The last process that started its callback server gets all calls, and they fail
    once that process has ended.
    """
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001  (as PySpark does)
    client = server.getCallbackClient()
    port = gateway.get_callback_server().get_listening_port()
    if client.getPort() != port:
        server.resetCallbackClient(client.getAddress(), port)


def java_type(spark: SparkSession, schema: StructType) -> Any:
    """Return a schema as a Java object."""
    return java_session(spark).parseDataType(schema.json())


def java_session(spark: SparkSession) -> Any:
    """Return the session as a Java object."""
    return spark._jsparkSession  # noqa: SLF001  (PySpark has no public way to it)


def _compile(jvm: Any) -> Any:
    finder = jvm.org.codehaus.commons.compiler.util.resource.MapResourceFinder()
    for source in (files("headrace.spark") / "jvm_source").iterdir():
        if source.name.endswith(".java"):
            finder.addResource(f"{_PACKAGE}/{source.name}", source.read_text(encoding="utf-8"))
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = jvm.org.codehaus.janino.JavaSourceClassLoader(parent, finder, "UTF-8")
    return loader.loadClass(f"{_PACKAGE.replace('/', '.')}.Frames").newInstance()
