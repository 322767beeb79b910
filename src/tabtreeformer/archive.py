"""The one file on disk: a zip of JSON, safetensors and the tree model's text, versioned and checksummed.

    manifest.json           format, version, checksums and sizes of all other members
    *.json, *.txt           settings, schema, codec, record, tree model
    *.safetensors           weights and prompts

Nothing in it is ever unpickled or executed. A file is read only after its sizes are seen to be sane, and used only
after every checksum is seen to agree.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._version import __version__
from .errors import ArchiveError
from .files import replacing

FORMAT, VERSION = "tabtreeformer", 1
MANIFEST = "manifest.json"
MAX_MEMBERS, MAX_BYTES = 64, 16 * 2**30
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""What the standard library raises on bytes that are no zip, a cut one, an encrypted one, or no JSON."""
_EPOCH = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same model is the same file


def write_archive(path: str | os.PathLike[str], members: Mapping[str, bytes]) -> None:
    """Write all members and a manifest under a temporary name beside `path`, then rename."""
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "members": {name: {"sha256": _digest(data), "bytes": len(data)} for name, data in members.items()},
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, data in {MANIFEST: dump_json(manifest), **members}.items():
            # Weights are noise to a compressor; text and ids shrink well.
            stored = zipfile.ZIP_STORED if name.startswith("weights") else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, compress_type=stored)


def read_archive(path: str | os.PathLike[str]) -> dict[str, bytes]:
    """Return the members of a model file, each checked against the manifest."""
    path = Path(path)
    if not path.is_file():
        raise ArchiveError(f"there is no model file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_members(archive, path)
    except _BROKEN as error:
        raise ArchiveError(f"{path} is not a tabtreeformer model, or it is damaged: {error}") from error
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror or error}") from error


def dump_json(data: Any) -> bytes:
    """JSON as bytes, the same for equal data."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True).encode()


def _read_members(archive: zipfile.ZipFile, path: Path) -> dict[str, bytes]:
    entries = {info.filename: info for info in archive.infolist()}
    if MANIFEST not in entries:
        raise ArchiveError(f"{path} is not a tabtreeformer model: it has no {MANIFEST}")
    if len(archive.infolist()) > MAX_MEMBERS or sum(i.file_size for i in archive.infolist()) > MAX_BYTES:
        raise ArchiveError(f"{path} holds more than a model can; it is damaged or not a tabtreeformer model")
    expected = _read_manifest(_bounded(archive, entries[MANIFEST], 2**20), path)
    if set(expected) != set(entries) - {MANIFEST} or len(entries) != len(archive.infolist()):
        raise ArchiveError(f"{path} is damaged: its members are not those that its manifest lists")
    members = {}
    for name, facts in expected.items():
        data = _bounded(archive, entries[name], int(facts["bytes"]))
        if len(data) != facts["bytes"] or _digest(data) != facts["sha256"]:
            raise ArchiveError(f"{path} is damaged: {name} does not match its checksum; get the file anew")
        members[name] = data
    return members


def _read_manifest(data: bytes, path: Path) -> dict[str, dict[str, Any]]:
    manifest = json.loads(data)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArchiveError(f"{path} is not a tabtreeformer model")
    version = manifest.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise ArchiveError(
            f"{path} has format version {version!r}, written by tabtreeformer {manifest.get('written_by')}; this is "
            f"{__version__}, which reads up to version {VERSION}: upgrade with pip install -U tabtreeformer"
        )
    members = manifest.get("members")
    if not isinstance(members, dict) or not all(
        isinstance(m, dict) and isinstance(m.get("bytes"), int) and isinstance(m.get("sha256"), str)
        for m in members.values()
    ):
        raise ArchiveError(f"{path} is damaged: its manifest lists no members")
    return members


def _bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """Unpack at most one byte more than expected, whatever the entry says of itself."""
    with archive.open(entry) as file:
        return file.read(most + 1)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
