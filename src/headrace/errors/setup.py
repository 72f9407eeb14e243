"""What this machine, or a Spark session, lacks."""

from headrace.errors.root import HeadraceError


class SetupError(HeadraceError):
    """What this machine, or a session, lacks."""


class JavaNotFoundError(SetupError):
    """Spark needs a Java, and there is none that it can run on."""

    code = "JAVA_NOT_FOUND"

    def __init__(self, *, java: str | None, version: int | None, oldest: int) -> None:
        self.java, self.version, self.oldest = java, version, oldest
        if java is None:
            found = "there is no java on the PATH, and JAVA_HOME is not set"
        elif version is None:
            found = f"{java} does not run"
        else:
            found = f"{java} is Java {version}, and Spark needs {oldest} or later"
        super().__init__(f"{found}; run: pip install 'headrace[spark-java]'")


class MissingExtraError(SetupError, ImportError):
    """An optional part of Headrace was not installed."""

    code = "MISSING_EXTRA"

    def __init__(self, *, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(f"{module} is not installed; run: pip install 'headrace[{extra}]'")


class SessionError(SetupError):
    """A Spark session cannot be used as it is."""

    code = "SESSION"

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; stop the session that runs, if any, and make one with "
            "headrace.spark.local(), or hand yours to headrace.spark.attach()"
        )
