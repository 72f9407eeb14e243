"""Finds the files that code opens, as far as its source says which.

A statement of a project enters; the files that it names leave, and what it reads from an unknown
place. A fingerprint includes the content of these files.
"""

import ast
from collections.abc import Iterator
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec

from headrace.pipeline.functions.folding import Folding
from headrace.pipeline.functions.module import Module, Statement
from headrace.pipeline.functions.resolution import Resolver

_OPENERS = frozenset(
    {
        *("open", "io.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open", "os.open"),
        *("builtins.open", "tokenize.open", "fileinput.FileInput", "dbm.dumb.open"),
        *("os.listdir", "os.scandir", "os.walk", "os.stat", "os.path.exists", "os.path.isfile"),
        *("os.path.isdir", "os.path.getsize", "glob.glob", "glob.iglob"),
        *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap"),
        *("pyarrow.memory_map", "pyarrow.OSFile", "pyarrow.input_stream", "pyarrow.ipc.open_file"),
        *("pyarrow.parquet.ParquetFile", "pyarrow.csv.open_csv", "pyarrow.dataset.dataset"),
        *("joblib.load", "torch.load", "sqlite3.connect", "zipfile.ZipFile", "tarfile.open"),
        *("mmap.mmap", "fileinput.input", "runpy.run_path", "dbm.open", "wave.open"),
        *("xml.etree.ElementTree.parse", "xml.etree.ElementTree.iterparse", "xml.sax.parse"),
        *("xml.dom.minidom.parse", "logging.config.fileConfig", "PIL.Image.open", "cv2.imread"),
        *("io.FileIO", "io.open_code", "gzip.GzipFile", "bz2.BZ2File", "lzma.LZMAFile"),
        *("filecmp.cmp", "filecmp.cmpfiles", "filecmp.dircmp", "shutil.copy", "shutil.copyfile"),
        *("shutil.copy2", "shutil.copytree", "os.readlink", "os.access", "os.path.lexists"),
        *("os.path.samefile", "zipfile.Path", "tarfile.TarFile", "netrc.netrc"),
        *("pyarrow.ipc.open_stream", "pyarrow.orc.ORCFile", "pyarrow.dataset.parquet_dataset"),
        *("pandas.ExcelFile", "pandas.HDFStore", "toml.load", "dotenv.dotenv_values"),
        *("os.fwalk", "os.path.islink", "os.getxattr", "gettext.translation", "gettext.find"),
        *("mailbox.mbox", "mailbox.Maildir", "mimetypes.read_mime_types", "xml.dom.pulldom.parse"),
        *("pyarrow.parquet.ParquetDataset", "pyarrow.ipc.RecordBatchFileReader"),
        *("zipfile.is_zipfile", "tarfile.is_tarfile"),
        *("openpyxl.load_workbook", "onnxruntime.InferenceSession", "h5py.File", "netCDF4.Dataset"),
    }
)
_READING_PACKAGES = ("pandas.", "polars.", "pyarrow.", "geopandas.")
_READERS = ("read_", "scan_")
_PATH_ARGUMENTS = frozenset({"file", "path", "source", "filename", "filepath_or_buffer", "where"})
_METHODS = frozenset(
    {
        *("read_text", "read_bytes", "open", "iterdir", "glob", "rglob", "exists", "is_file"),
        *("is_dir", "stat", "lstat", "walk", "readlink"),
    }
)
_PATHS = "pathlib."
_RESOURCES = frozenset(
    f"importlib.resources.{name}"
    for name in ("read_text", "read_binary", "open_text", "open_binary", "path", "contents")
)
_FILE_TIMES = frozenset({"os.path.getmtime", "os.path.getctime", "os.path.getatime"})
_FILE_TIME_FIELDS = frozenset(
    f"st_{name}time{unit}" for name in ("m", "c", "a", "birth") for unit in ("", "_ns")
)
_METHOD_CALLERS = frozenset({"operator.methodcaller", "operator.attrgetter"})
_SPARK_READERS = frozenset(
    {"parquet", "csv", "json", "orc", "text", "load", "jdbc", "format", "xml"}
)
_CONTEXT_READERS = frozenset(
    {
        *("textFile", "wholeTextFiles", "binaryFiles", "binaryRecords", "sequenceFile"),
        *("pickleFile", "hadoopFile", "newAPIHadoopFile", "hadoopRDD", "newAPIHadoopRDD"),
    }
)
_WILDCARDS = frozenset("*?[")
_LONGEST_PATH = 1024
_COMPUTED = "a file whose path is computed"


class Opened(msgspec.Struct, frozen=True):
    """What a call opens."""

    path: str | None
    """Its path, or a pattern of paths; None if that is not static."""


class OpenedFiles:
    """Looks for files in the statements of a project."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._names: dict[Statement, set[str]] = {}

    def files(self, module: Module, statement: Statement) -> Iterator[Path]:
        """Yield the files that a statement names, and the folders that it lists."""
        folding = Folding(self._resolver, module, statement)
        folders = (module.file.parent, self._resolver.root)
        opening: set[str] = set()
        for node in statement.nodes():
            if isinstance(node, ast.Constant | ast.BinOp | ast.Call | ast.JoinedStr):
                path = folding.fold(node)
                yield from (file for file in _existing(path, *folders) if file.is_file())
            if isinstance(node, ast.Call):
                folding.names.clear()
                opened = _opened(folding, node)
                if opened is not None:
                    opening |= folding.names
                path = None if opened is None else _without_wildcards(opened.path)
                yield from _existing(path, Path.cwd(), *folders)
        self._names[statement] = opening

    def names_of(self, statement: Statement) -> set[str]:
        """Return the global names from which a statement, looked at before, computes paths."""
        return self._names.get(statement, set())

    def reads_any(self, module: Module, statement: Statement) -> bool:
        """Return whether a statement calls, or passes on, a `read` of a computed path."""
        folding = Folding(self._resolver, module, statement)
        called = {n.func: n for n in statement.nodes() if isinstance(n, ast.Call)}
        for node in statement.nodes():
            if isinstance(node, ast.Attribute) and node.attr == "read":
                if node not in called:
                    return True
                if any(folding.fold(argument) is None for argument in called[node].args[:1]):
                    return True
        return False

    def unknown(self, module: Module, statement: Statement) -> Iterator[str]:
        """Yield descriptions of what a statement reads from paths that are not in its source."""
        folding = Folding(self._resolver, module, statement)
        for node in statement.nodes():
            if isinstance(node, ast.Call) and (opened := _opened(folding, node)) is not None:
                path = _without_wildcards(opened.path)
                if path is None:
                    yield _COMPUTED
                elif "://" in path:
                    yield "the network"
            elif _is_spark_reader(node):
                yield "data that is no source of the project"
            elif _is_file_time(folding, node):
                yield "the time of a file"
        for value in _values(statement):
            if _is_opener(folding, statement, value):
                yield _COMPUTED


def _opened(folding: Folding, call: ast.Call) -> Opened | None:
    """Return what a call opens; None if it opens no file."""
    called = folding.dotted(call.func)
    arguments = [*call.args[:1], *(k.value for k in call.keywords if k.arg in _PATH_ARGUMENTS)]
    first = arguments[0] if arguments else None
    if called in _RESOURCES:
        return Opened(folding.resource(call.args))
    if _reads(called):
        return Opened(None if first is None else folding.fold(first))
    match call:
        case ast.Call(
            func=ast.Name(id="getattr"), args=[opened, ast.Constant(value=str(method)), *_]
        ) if method in _METHODS:
            return Opened(folding.fold(opened))
        case ast.Call(args=[ast.Constant(value=str(method)), *_]) if called in _METHOD_CALLERS:
            return Opened(None) if method in _METHODS else None
        case ast.Call(func=ast.Attribute(attr="read"), args=[path, *_]):
            return Opened(folding.fold(path)) if folding.has_import("configparser") else None
        case ast.Call(func=ast.Attribute(value=opened, attr=method) as called_method):
            is_path = method in _METHODS and not folding.is_function_of_module(called_method)
            return Opened(folding.fold(opened)) if is_path else None
        case _:
            return None


def is_opener(called: str) -> bool:
    """Return whether a call of this name opens a file, which this module then looks for."""
    return _reads(called) or called in _RESOURCES | _FILE_TIMES or called in _METHOD_CALLERS


def _reads(called: str) -> bool:
    """Return whether a function, or a method called as `Path.read_text(path)`, opens a file."""
    name = called.rpartition(".")[2]
    return (
        called in _OPENERS
        or (name.startswith(_READERS) and called.startswith(_READING_PACKAGES))
        or (name in _METHODS and called.startswith(_PATHS))
    )


def _is_spark_reader(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Attribute(attr="read" | "readStream"), attr=way):
            return way in _SPARK_READERS
        case ast.Attribute(attr=way):
            return way in _CONTEXT_READERS
        case _:
            return False


def _is_file_time(folding: Folding, node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=field) if field in _FILE_TIME_FIELDS:
            return True
        case ast.Attribute() | ast.Name():
            return folding.dotted(node) in _FILE_TIMES
        case _:
            return False


def _values(statement: Statement) -> Iterator[ast.Name | ast.Attribute]:
    """Yield the names and attributes that are values: neither called, nor in annotations."""
    skipped: set[ast.AST] = set()
    for node in statement.nodes():
        if isinstance(node, ast.Call):
            skipped.add(node.func)
        for field in ("annotation", "returns"):
            if isinstance(annotation := getattr(node, field, None), ast.expr):
                skipped.update(ast.walk(annotation))
    for node in statement.nodes():
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if node not in skipped:
                yield node


def _is_opener(folding: Folding, statement: Statement, node: ast.Name | ast.Attribute) -> bool:
    """Return whether a value opens a file if it is called."""
    called = folding.dotted(node)
    if isinstance(node, ast.Name):
        return _reads(called) and (called != node.id or node.id in statement.free_names)
    if called:
        return _reads(called)
    if node.attr == "read":
        return folding.has_import("configparser")
    is_plain = node.attr == "open" and not isinstance(node.value, ast.Call)  # such as a price
    return node.attr in _METHODS and not is_plain


def _without_wildcards(path: str | None) -> str | None:
    """Return a path, or the folder that a pattern searches; None if that is unknown."""
    if path is None or not _WILDCARDS & {*path}:
        return path
    parts = Path(path).parts
    until = next(index for index, part in enumerate(parts) if _WILDCARDS & {*part})
    return str(Path(*parts[:until])) if until else None


def _existing(path: str | None, *folders: Path) -> Iterator[Path]:
    """Yield the files and folders that exist at a path below one of `folders`."""
    if not path or "\0" in path or len(path) > _LONGEST_PATH:
        return
    for folder in dict.fromkeys(folders):
        place = folder / path
        try:
            exists = place.exists()
        except OSError:  # a part of the path is too long for a file name
            exists = False
        if exists:
            yield place


def digest_file(place: Path) -> str:
    """Return the digest of a file, or of all files below a folder with their names."""
    if place.is_dir():
        digest = sha256()
        for file in sorted(place.rglob("*")):
            if file.is_file():
                digest.update(
                    f"{file.relative_to(place).as_posix()} {digest_file(file)}\n".encode()
                )
        return digest.hexdigest()
    with place.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
