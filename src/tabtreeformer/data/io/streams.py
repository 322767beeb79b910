"""Bytes and text of files, compressed or not: the encoding, and where decoding fails."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..._runtime.warning import warn
from ...errors import ConfigError, OutputError, ReadingWarning, SchemaError, import_extra

BLOCK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PACKED = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_FOREIGN = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "a Feather file; name it .feather",
    b"PK\x03\x04": "a zip or Excel file; unpack it, or name it .xlsx",
    b"SQLite format 3": "an SQLite database; name it as sqlite:///FILE",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
}


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing on the fly; the compression is detected from the content."""
    try:
        with path.open("rb") as raw:
            start = raw.read(16)
            raw.seek(0)
            packing = next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)
            with _unpack(raw, packing) as stream:
                yield stream
    except EOFError as error:
        raise SchemaError(f"{path} is truncated: its compressed data ends early; copy it again") from error
    except (OSError, zlib.error, lzma.LZMAError) as error:
        raise SchemaError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


@contextlib.contextmanager
def open_text(path: Path, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open a file for reading text, with line endings unchanged."""
    with open_bytes(path) as stream:
        yield io.TextIOWrapper(stream, encoding=encoding, newline="")


@contextlib.contextmanager
def write_text(target: Path, name: str, encoding: str) -> Iterator[IO[str]]:
    """Open `target` for writing text, compressed according to the extension of `name`."""
    ending = name.lower().rsplit(".", 1)[-1]
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise ConfigError(f"there is no encoding {encoding!r}; try utf-8, utf-16, latin-1 or cp1252") from error
    try:
        with (
            _pack(target, ending) as stream,
            io.TextIOWrapper(stream, encoding=encoding, newline="") as text,
        ):
            yield text
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise OutputError(f"cannot write {name}: {encoding} has no {letter!r}; choose utf-8") from error


def find_encoding(path: Path, wanted: str | None) -> str:
    """The encoding of a text file: the given one, its byte-order mark, or UTF-8; an error names the invalid line."""
    with open_bytes(path) as stream:
        start = stream.read(4096)
    encoding = wanted or next((name for mark, name in _MARKS if start.startswith(mark)), None) or _unmarked(start)
    try:
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except LookupError as error:
        raise ConfigError(f"there is no encoding {encoding!r}; try utf-8, utf-16, latin-1 or cp1252") from error
    for mark, what in _FOREIGN.items():
        if start.startswith(mark):
            raise SchemaError(f"{path} is not a text file but {what}")
    try:
        _try(path, encoding, wanted)
    except SchemaError:
        if wanted or encoding != "utf-8-sig" or not _is_western(path):
            raise
        encoding = WESTERN
        warn(
            f"{path} is not UTF-8 and was read as {WESTERN}, which fits its letters; name another with --encoding "
            f"(encoding=…)",
            ReadingWarning,
        )
    return encoding


def _is_western(path: Path) -> bool:
    """Whether a whole file is plausible as Western European text: single accented letters in plain words.

    In other code pages, lines with any non-ASCII letters consist mostly of them, and a file with UTF-8 mixed in has
    byte pairs that are UTF-8.
    """
    plain = accented = 0
    with open_bytes(path) as stream:
        for line in stream:
            if b"\0" in line:
                return False
            if line.isascii():
                continue
            try:
                text = line.decode(WESTERN)
            except UnicodeDecodeError:
                return False
            beyond = [letter for letter in text if not letter.isascii()]
            if _UTF8_PAIR.search(line) or not all(c.isalpha() or c in _SIGNS for c in beyond):
                return False
            accented += sum(c.isalpha() for c in beyond)
            plain += sum(c.isalpha() for c in text if c.isascii())
    return accented <= 0.4 * max(plain, 1) or accented + plain == 0


WESTERN = "cp1252"
_UTF8_PAIR = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")
_SIGNS = frozenset("€£¥§°²³½¼¾µ«»–—‘’“”„…•·®©™ªº¿¡±×÷\xa0\xad")


def _unmarked(start: bytes) -> str:
    """Recognise UTF-16 without a byte-order mark by its zeros: every second byte of Western text."""
    pairs = len(start) // 2
    if pairs and start[1::2].count(0) > 0.4 * pairs and start[::2].count(0) < 0.1 * pairs:
        return "utf-16-le"
    if pairs and start[::2].count(0) > 0.4 * pairs and start[1::2].count(0) < 0.1 * pairs:
        return "utf-16-be"
    return "utf-8"


def _try(path: Path, encoding: str, wanted: str | None) -> None:
    """Decode the whole file once, so that no table is half-read and no letter replaced."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    wide = codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))
    line = 1
    with open_bytes(path) as stream:
        while True:
            block = stream.read(BLOCK)
            if not wide and b"\0" in block:
                line += block[: block.index(b"\0")].count(b"\n")
                raise SchemaError(f"{path} is not a text file: line {line} holds a zero byte")
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                name = "UTF-8" if encoding == "utf-8-sig" else encoding
                way = "name the right one" if wanted else "name its encoding, e.g. --encoding latin-1 or cp1252"
                raise SchemaError(
                    f"{path} is not {name}: byte 0x{error.object[error.start]:02x} in line {line}; {way}, "
                    f"or correct the file if it mixes several"
                ) from error
            if not block:
                return
            line += block.count(b"\n")


def _unpack(raw: IO[bytes], packing: str | None) -> Any:
    if packing == "gz":
        return gzip.GzipFile(fileobj=raw)
    if packing == "bz2":
        return bz2.BZ2File(raw)
    if packing == "xz":
        return lzma.LZMAFile(raw)
    if packing == "zst":
        return import_extra("pyarrow", "parquet").input_stream(raw, compression="zstd")
    return contextlib.nullcontext(raw)


def _pack(target: Path, ending: str) -> Any:
    if ending == "gz":
        # Without a timestamp and a name inside, the same rows give the same file.
        return _GzipWithoutDate(target)
    if ending == "bz2":
        return bz2.BZ2File(target, "wb")
    if ending == "xz":
        return lzma.LZMAFile(target, "wb")
    if ending == "zst":
        return import_extra("pyarrow", "parquet").output_stream(str(target), compression="zstd")
    return target.open("wb")


class _GzipWithoutDate(gzip.GzipFile):
    def __init__(self, target: Path) -> None:
        self._file = target.open("wb")
        super().__init__(filename="", mode="wb", compresslevel=6, fileobj=self._file, mtime=0)

    def close(self) -> None:
        super().close()
        self._file.close()
