"""The single file on disk: a zip of JSON, safetensors and the tree model's text, versioned and checksummed.

    manifest.json           format, version, checksums and sizes of all other members
    *.json, *.txt           settings, schema, codec, record, tree model
    *.safetensors           weights and prompts

Nothing in it is ever unpickled, executed or written elsewhere. A file from a stranger is read only after its sizes have
been checked, so that it can never take more memory than a fixed multiple of its own length, and used only after every
checksum has been verified.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from .._runtime.files import replacing
from .._version import __version__
from ..errors import ArchiveError

FORMAT, VERSION = "tabtreeformer", 1
DATABASE = "tabtreeformer database"
"""The format of a file with models of several tables."""
MANIFEST = "manifest.json"
MAX_MEMBERS, MAX_BYTES, MAX_MANIFEST = 64, 16 * 2**30, 2**20
MAX_TABLE_MEMBERS = 10_000
"""Members of a file of several tables."""
MAX_DIRECTORY = 2**17
"""Maximum bytes of the zip's list of members, which is read first."""
MAX_RATIO, SMALL = 200, 2**16
"""No member may unpack to more than this multiple of its packed size; the smallest may exceed it a little."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,50}\.(json|txt|safetensors)")
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    LookupError,
    ArithmeticError,
    MemoryError,
)
"""What the standard library raises for bytes that are not a zip, a truncated or encrypted zip, or invalid JSON."""
Known = Mapping[str, int] | Callable[[str], int | None]
"""The maximum size of every member that is allowed."""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal models give equal files


def write_archive(path: str | os.PathLike[str], members: Mapping[str, bytes], form: str = FORMAT) -> None:
    """Write all members and a manifest under a temporary name beside `path`, then rename."""
    manifest = {
        "format": form,
        "version": VERSION,
        "written_by": __version__,
        "members": {name: {"sha256": _digest(data), "bytes": len(data)} for name, data in members.items()},
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in {MANIFEST: dump_json(manifest), **members}.items():
            # Weights do not compress; text and ids do.
            stored = zipfile.ZIP_STORED if name.startswith("weights") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, compress_type=stored)


def read_archive(path: str | os.PathLike[str], known: Known | None = None, form: str = FORMAT) -> dict[str, bytes]:
    """Return the members of a model file, each checked against the manifest.

    `known` says which members are allowed and their maximum sizes: as a mapping, or as a function of the name that
    returns None for a member that is not allowed.
    """
    path = Path(path)
    if not path.is_file():
        raise ArchiveError(f"there is no model file {path}")
    try:
        with path.open("rb") as file:
            _check_directory(file, path)
            with zipfile.ZipFile(file) as archive:
                _check_entries(archive.infolist(), path, known)
                return _read_members(archive, path, form)
    except _BROKEN as error:
        raise ArchiveError(f"{path} is not a tabtreeformer model, or it is damaged: {error}") from error
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error


def form_of(path: str | os.PathLike[str]) -> str | None:
    """What a file claims to be, e.g. a model of one table or of a database; None if it is not such a file."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(MANIFEST) as file:
            form = load_json(file.read(MAX_MANIFEST)).get("format")
    except (*_BROKEN, OSError, AttributeError):
        return None
    return form if isinstance(form, str) else None


def dump_json(data: Any) -> bytes:
    """JSON as bytes, the same for equal data."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True).encode()


def load_json(data: bytes) -> Any:
    """Inverse of `dump_json`; refuses what it never writes: NaN, infinities, a repeated name."""
    return json.loads(data, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once)


def _refuse(text: str) -> Any:
    raise ValueError(f"JSON does not allow {text}")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text[:20])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise ValueError("a name is repeated in the same object")
    return content


def _check_directory(file: BinaryIO, path: Path) -> None:
    """Refuse a zip whose list of members is absurdly long, which the standard library would read first."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 2**16 - 22, 0))
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    if place < 0 or len(tail) - place < 22:
        raise ArchiveError(f"{path} is not a tabtreeformer model, or it is damaged: it is not a zip file")
    sizes = [struct.unpack_from("<L", tail, place + 12)[0]]
    if place >= 20 and tail[place - 20 : place - 16] == b"PK\6\7":  # a file of more than 2 GB also has a longer record
        file.seek(struct.unpack_from("<Q", tail, place - 12)[0])
        sizes.append(struct.unpack_from("<Q", file.read(56), 40)[0])
    file.seek(0)
    if max(sizes) > MAX_DIRECTORY:
        raise ArchiveError(f"{path} holds more than a model can; it is damaged or not a tabtreeformer model")


def _check_entries(entries: list[zipfile.ZipInfo], path: Path, known: Known | None) -> None:
    """Refuse members by their stated sizes, before any is unpacked."""
    names = [entry.filename for entry in entries]
    if MANIFEST not in names:
        raise ArchiveError(f"{path} is not a tabtreeformer model: it has no {MANIFEST}")
    odd = [name for name in names if not _NAME.fullmatch(name) or names.count(name) > 1]
    if odd or any(e.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for e in entries):
        raise ArchiveError(f"{path} is damaged: its members are not those of a model ({(odd or names)[0]!r})")
    size_of = known.get if isinstance(known, Mapping) else known
    sizes = {name: MAX_BYTES if size_of is None else size_of(name) for name in names} | {MANIFEST: MAX_MANIFEST}
    most = {name: size for name, size in sizes.items() if size is not None}
    strange = [name for name in names if name not in most]
    if strange:
        raise ArchiveError(
            f"{path} has a member {strange[0]!r} that this version does not know; upgrade, or save the model again"
        )
    packed = sum(entry.compress_size for entry in entries)
    large = (
        len(entries) > (MAX_MEMBERS if isinstance(known, Mapping) else MAX_TABLE_MEMBERS)
        or sum(entry.file_size for entry in entries) > MAX_BYTES
        or packed > path.stat().st_size  # members that share their bytes
        or any(e.file_size > min(most[e.filename], MAX_RATIO * max(e.compress_size, SMALL)) for e in entries)
    )
    if large:
        raise ArchiveError(f"{path} holds more than a model can; it is damaged or not a tabtreeformer model")


def _read_members(archive: zipfile.ZipFile, path: Path, form: str) -> dict[str, bytes]:
    entries = {info.filename: info for info in archive.infolist()}
    expected = _read_manifest(_bounded(archive, entries[MANIFEST], MAX_MANIFEST), path, form)
    if set(expected) != set(entries) - {MANIFEST}:
        raise ArchiveError(f"{path} is damaged: its members are not those that its manifest lists")
    members = {}
    for name, facts in expected.items():
        data = _bounded(archive, entries[name], min(facts["bytes"], entries[name].file_size))
        if len(data) != facts["bytes"] or _digest(data) != facts["sha256"]:
            raise ArchiveError(f"{path} is damaged: {name} does not match its checksum; get the file again")
        members[name] = data
    return members


def _read_manifest(data: bytes, path: Path, form: str) -> dict[str, dict[str, Any]]:
    manifest = load_json(data)
    if not isinstance(manifest, dict) or manifest.get("format") != form:
        raise ArchiveError(f"{path} is not a {form}{' model' * (form == FORMAT)}")
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ArchiveError(
            f"{path} has format version {version!r}, written by tabtreeformer {manifest.get('written_by')}; this is "
            f"{__version__}, which reads up to version {VERSION}: upgrade with pip install -U tabtreeformer"
        )
    members = manifest.get("members")
    if not isinstance(members, dict) or not all(
        isinstance(m, dict) and type(m.get("bytes")) is int and m["bytes"] >= 0 and isinstance(m.get("sha256"), str)
        for m in members.values()
    ):
        raise ArchiveError(f"{path} is damaged: its manifest lists no members")
    return members


def _bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """Unpack at most one byte more than expected, whatever size the entry states."""
    with archive.open(entry) as file:
        return file.read(most + 1)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
