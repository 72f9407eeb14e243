"""Setup: this machine or the Spark session lacks something."""

from headrace.errors.root import HeadraceError


class SetupError(HeadraceError):
    """The machine or the session lacks something."""


class BuildFailedError(SetupError):
    """The C library cannot be built on this machine."""

    code = "BUILD_FAILED"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; building needs a C compiler, Python's headers and a shared libpython"
        )


class JavaNotFoundError(SetupError):
    """Spark needs Java, and no suitable one was found."""

    code = "JAVA_NOT_FOUND"

    def __init__(self, *, java: str | None, version: int | None, oldest: int) -> None:
        self.java, self.version, self.oldest = java, version, oldest
        if java is None:
            problem = "there is no java on the PATH, and JAVA_HOME is not set"
        elif version is None:
            problem = f"{java} does not run"
        else:
            problem = f"{java} is Java {version}, and Spark needs {oldest} or later"
        super().__init__(f"{problem}; run: pip install 'headrace[spark-java]'")


class MissingExtraError(SetupError, ImportError):
    """An optional dependency is not installed."""

    code = "MISSING_EXTRA"

    def __init__(self, *, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{module} is not installed; run: pip install 'headrace[{extra}]'")


class SessionError(SetupError):
    """A Spark session is not configured as Headrace needs it."""

    code = "SESSION"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; stop the running session, if any, and create one with "
            "headrace.spark.local(), or pass yours to headrace.spark.attach()"
        )


class FileSystemMissingError(SetupError):
    """Spark cannot read the data files of a store: it lacks the file system."""

    code = "FILE_SYSTEM_MISSING"

    def __init__(self, *, store: str, package: str) -> None:
        self.store, self.package = store, package
        super().__init__(
            f"{store}: this Spark has no file system for the store; start it with the setting "
            f"spark.jars.packages={package}, or read through the data source: "
            'spark.read.format("headrace")'
        )
