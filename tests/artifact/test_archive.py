import io
import json
import os
import zipfile

import pytest

from tabtreeformer.artifact import archive
from tabtreeformer.artifact.archive import read_archive, write_archive
from tabtreeformer.errors import ArchiveError, OutputError

MEMBERS = {"a.json": b'{"x": 1}', "weights_1.safetensors": bytes(range(256)) * 40}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.tabtree"
    write_archive(path, MEMBERS)
    return path


def rewrite(path, change):
    """Write the zip anew with its members changed by a function."""
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as new:
        for name, data in members.items():
            new.writestr(name, data)


def test_members_come_back(path):
    assert read_archive(path) == MEMBERS


def test_the_same_members_make_the_same_bytes(path, tmp_path):
    write_archive(tmp_path / "again", MEMBERS)
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


def test_nothing_but_the_file_is_left_behind(path, tmp_path):
    write_archive(path, MEMBERS)
    assert os.listdir(tmp_path) == ["model.tabtree"]


def test_a_failed_write_leaves_the_old_file_and_no_other(path, tmp_path, monkeypatch):
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OutputError, match="cannot write .*: No space left on device"):
        write_archive(path, MEMBERS)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.tabtree"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="the folder .* does not exist; create it first"):
        write_archive(tmp_path / "no" / "model.tabtree", MEMBERS)


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ArchiveError, match="there is no model file"):
        read_archive(tmp_path / "model.tabtree")


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 not really"])
def test_a_foreign_file_is_an_error(tmp_path, content):
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(ArchiveError, match="is not a tabtreeformer model"):
        read_archive(tmp_path / "data")


def test_a_foreign_zip_is_an_error(path):
    rewrite(path, lambda members: members.pop("manifest.json"))
    with pytest.raises(ArchiveError, match="it has no manifest"):
        read_archive(path)
    rewrite(path, lambda members: members.update({"manifest.json": b'{"format": "other"}'}))
    with pytest.raises(ArchiveError, match="is not a tabtreeformer model"):
        read_archive(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_an_error(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ArchiveError, match="damaged"):
        read_archive(path)


def test_a_flipped_bit_anywhere_in_the_contents_is_an_error(path):
    data = bytearray(path.read_bytes())
    place = data.index(bytes(range(200, 256))) + 30
    data[place] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match="damaged"):
        read_archive(path)


def test_a_changed_member_does_not_match_its_checksum(path):
    rewrite(path, lambda members: members.update({"a.json": b'{"x": 2}'}))
    with pytest.raises(ArchiveError, match=r"a\.json does not match its checksum"):
        read_archive(path)


@pytest.mark.parametrize("change", [lambda m: m.update({"more.json": b"1"}), lambda m: m.pop("a.json")])
def test_members_are_those_of_the_manifest(path, change):
    rewrite(path, change)
    with pytest.raises(ArchiveError, match="members are not those that its manifest lists"):
        read_archive(path)


def test_a_newer_file_says_to_upgrade(path, monkeypatch):
    monkeypatch.setattr(archive, "VERSION", archive.VERSION + 1)
    write_archive(path, MEMBERS)
    monkeypatch.undo()
    with pytest.raises(ArchiveError, match=r"format version 2, .* upgrade with pip install -U tabtreeformer"):
        read_archive(path)


def test_a_zip_bomb_is_not_unpacked(path):
    """A member of a quarter of a kilobyte that would unpack to a quarter of a gigabyte."""
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new, zipfile.ZipFile(path) as old:
        manifest = json.loads(old.read("manifest.json"))
        new.writestr("manifest.json", json.dumps(manifest))
        new.writestr("a.json", bytes(2**28))
        new.writestr("weights_1.safetensors", MEMBERS["weights_1.safetensors"])
    path.write_bytes(bomb.getvalue())
    with pytest.raises(ArchiveError, match="holds more than a model can"):
        read_archive(path)


def test_absurd_sizes_are_refused(path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    with pytest.raises(ArchiveError, match="holds more than a model can"):
        read_archive(path)


def test_a_member_that_lies_about_its_size_is_read_no_further_than_it_said(path):
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    lie = io.BytesIO()
    with zipfile.ZipFile(lie, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in members.items():
            new.writestr(name, bytes(2**24) if name == "a.json" else data)
        for entry in new.infolist():
            entry.file_size = len(members[entry.filename])
    path.write_bytes(lie.getvalue())
    with pytest.raises(ArchiveError, match="damaged"):
        read_archive(path)


@pytest.mark.parametrize("name", ["../a.json", "/etc/a.json", "a/b.json", "A.JSON", "a.py", "a.json/", "c:\\a.json"])
def test_names_that_are_no_plain_names_are_refused(path, name):
    rewrite(path, lambda members: members.update({name: b"{}"}))
    with pytest.raises(ArchiveError, match="members are not those of a model"):
        read_archive(path)


def test_a_member_that_stands_twice_is_refused(path):
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a.json", b'{"x": 1}')
    with pytest.raises(ArchiveError, match="members are not those of a model"):
        read_archive(path)


def test_members_that_this_version_does_not_know_or_that_are_too_large_are_refused(path):
    known = {"a.json": 100, "weights_1.safetensors": 20_000}
    assert read_archive(path, known) == MEMBERS
    with pytest.raises(ArchiveError, match="a member 'a.json' that this version does not know"):
        read_archive(path, {"weights_1.safetensors": 20_000})
    with pytest.raises(ArchiveError, match="holds more than a model can"):
        read_archive(path, known | {"a.json": 5})


def test_a_list_of_a_million_members_is_not_read(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "many", "w") as archive:
        for k in range(3000):
            archive.writestr(f"m{k}.json", b"")
    monkeypatch.setattr(zipfile.ZipFile, "__init__", lambda *a: pytest.fail("the list was read"))
    with pytest.raises(ArchiveError, match="holds more than a model can"):
        read_archive(tmp_path / "many")


def test_other_ways_of_packing_are_refused(path):
    with zipfile.ZipFile(path) as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as new:
        for name, data in members.items():
            new.writestr(name, data)
    with pytest.raises(ArchiveError, match="members are not those of a model"):
        read_archive(path)


@pytest.mark.parametrize(
    "text", [b"NaN", b"[Infinity]", b'{"a": -Infinity}', b"1e999", b'{"a": 1, "a": 2}', b"[" * 99999]
)
def test_json_that_we_never_write_is_refused(text):
    with pytest.raises((ValueError, RecursionError)):
        archive.load_json(text)
