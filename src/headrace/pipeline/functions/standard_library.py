"""Lists the names of Python's standard library that depend on nothing but their arguments.

A dotted name enters; whether it is listed leaves. Any other name may read files, the clock, or the
machine: `opened` knows the names that open a file, `outside` the worst of the others.
"""

import sys

_MODULES = frozenset(
    {
        *("__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "calendar"),
        *("cmath", "collections", "colorsys", "contextlib", "contextvars", "copy", "csv"),
        *("dataclasses", "datetime", "decimal", "difflib", "email.errors", "email.header"),
        *("email.policy", "enum", "errno", "fnmatch", "fractions", "functools", "graphlib"),
        *("hashlib", "heapq", "hmac", "html", "ipaddress", "itertools", "json", "keyword"),
        *("math", "numbers", "operator", "pathlib", "pprint", "queue", "quopri", "re"),
        *("reprlib", "shlex", "stat", "string", "stringprep", "struct", "textwrap", "token"),
        *("tomllib", "types", "typing", "unicodedata", "urllib.error", "urllib.parse"),
        *("warnings", "xml.sax.saxutils", "zlib", "zoneinfo"),
    }
)
_NAMES = frozenset(
    {
        *("bz2.compress", "bz2.decompress", "bz2.BZ2Compressor", "bz2.BZ2Decompressor"),
        *("codecs.encode", "codecs.decode", "codecs.lookup", "codecs.getencoder"),
        *("codecs.getdecoder", "codecs.BOM_UTF8", "codecs.escape_decode"),
        *("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.wait"),
        *("concurrent.futures.as_completed", "concurrent.futures.Future"),
        *("configparser.ConfigParser", "configparser.RawConfigParser", "configparser.Error"),
        *("email.message_from_string", "email.message_from_bytes", "email.utils.parseaddr"),
        *("email.utils.formataddr", "email.utils.getaddresses", "email.utils.parsedate"),
        *("email.utils.parsedate_tz", "email.utils.parsedate_to_datetime", "email.utils.quote"),
        *("email.utils.unquote", "glob.escape", "glob.has_magic", "gzip.compress"),
        *("gzip.decompress", "gzip.BadGzipFile", "io.BytesIO", "io.StringIO"),
        *("io.TextIOWrapper", "io.BufferedReader", "io.IOBase", "io.RawIOBase"),
        *("io.BufferedIOBase", "io.TextIOBase", "io.SEEK_SET", "io.SEEK_CUR", "io.SEEK_END"),
        *("io.UnsupportedOperation", "logging.getLogger", "logging.Logger", "logging.DEBUG"),
        *("logging.INFO", "logging.WARNING", "logging.ERROR", "logging.CRITICAL"),
        *("logging.NullHandler", "logging.debug", "logging.info", "logging.warning"),
        *("logging.error", "logging.exception", "logging.critical", "lzma.compress"),
        *("lzma.decompress", "lzma.LZMADecompressor", "lzma.LZMACompressor", "lzma.LZMAError"),
        *("os.sep", "os.altsep", "os.linesep", "os.pathsep", "os.curdir", "os.pardir"),
        *("os.extsep", "os.fspath", "os.fsencode", "os.fsdecode", "os.PathLike", "os.read"),
        *("os.close", "os.lseek", "os.error", "os.strerror", "os.O_RDONLY", "os.SEEK_SET"),
        *("os.SEEK_CUR", "os.SEEK_END", "os.DirEntry", "plistlib.loads", "plistlib.dumps"),
        *("statistics.mean", "statistics.fmean", "statistics.median", "statistics.median_low"),
        *("statistics.median_high", "statistics.mode", "statistics.multimode"),
        *("statistics.stdev", "statistics.pstdev", "statistics.variance", "statistics.pvariance"),
        *("statistics.quantiles", "statistics.geometric_mean", "statistics.harmonic_mean"),
        *("statistics.correlation", "statistics.covariance", "statistics.linear_regression"),
        *("statistics.StatisticsError", "statistics.NormalDist", "sys.maxsize", "sys.maxunicode"),
        *("sys.float_info", "sys.int_info", "sys.intern", "sys.exit"),
        *("sys.stdout.write", "sys.stdout.flush", "sys.stderr.write", "sys.stderr.flush"),
        *("sys.exception", "sys.getdefaultencoding", "tarfile.TarFile", "tarfile.TarInfo"),
        *("tarfile.TarError", "tarfile.ReadError", "threading.Lock", "threading.RLock"),
        *("threading.local", "threading.Event", "threading.Condition", "threading.Semaphore"),
        *("threading.Thread", "time.sleep", "time.struct_time", "time.strptime", "time.mktime"),
        *("uuid.UUID", "uuid.uuid3", "uuid.uuid5", "uuid.NAMESPACE_DNS", "uuid.NAMESPACE_URL"),
        *("uuid.NAMESPACE_OID", "uuid.NAMESPACE_X500", "uuid.SafeUUID"),
        *("xml.etree.ElementTree.Element", "xml.etree.ElementTree.SubElement"),
        *("xml.etree.ElementTree.fromstring", "xml.etree.ElementTree.tostring"),
        *("xml.etree.ElementTree.XML", "xml.etree.ElementTree.ParseError"),
        *("xml.etree.ElementTree.fromstringlist", "xml.etree.ElementTree.tostringlist"),
        *("xml.etree.ElementTree.indent", "xml.etree.ElementTree.ElementTree"),
        *("xml.etree.ElementTree.Comment", "xml.etree.ElementTree.QName"),
        *("xml.dom.minidom.parseString", "html.parser.HTMLParser", "zipfile.ZipFile"),
        *("zipfile.ZipInfo", "zipfile.BadZipFile", "zipfile.ZIP_DEFLATED", "zipfile.ZIP_STORED"),
        *(
            f"{path}.{name}"
            for path in ("os.path", "posixpath", "ntpath")
            for name in (
                *("join", "dirname", "basename", "abspath", "realpath", "split", "splitext"),
                *("normpath", "normcase", "isabs", "relpath", "commonpath", "commonprefix"),
                *("splitdrive", "sep", "pardir", "curdir", "extsep"),
            )
        ),
    }
)
_STREAMS = frozenset({"sys.stdout", "sys.stderr"})
"""Printing to these is harmless; other names of them, such as `fileno`, are unknown."""
_OTHER_MODULES = frozenset({"builtins", "importlib", "os", "socket", "subprocess", "sys"})
"""Modules that other modules import, so that they are attributes of these."""


def is_standard(dotted: str) -> bool:
    """Return whether a name belongs to the standard library."""
    return dotted.partition(".")[0] in sys.stdlib_module_names


def is_known(dotted: str) -> bool:
    """Return whether a name of the standard library depends only on its arguments."""
    parts = dotted.split(".")
    prefixes = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return (
        dotted in _STREAMS or not _MODULES.isdisjoint(prefixes) or not _NAMES.isdisjoint(prefixes)
    )


def within_other(dotted: str) -> str | None:
    """Return the name in another module that is reached through the import of a module.

    `glob.os.environ` is `os.environ`.
    """
    parts = dotted.split(".")
    for start, part in enumerate(parts[1:], 1):
        is_last = start == len(parts) - 1
        if part in _OTHER_MODULES or (not is_last and part in {"time", "random"}):
            return ".".join(parts[start:])
    return None
