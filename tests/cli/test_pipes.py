"""Tables from standard input and to standard output."""

import io
import subprocess
import sys

import pandas as pd
import pytest

from tabtreeformer import SchemaError, open_chunks, read_table


def ttf(*words, given=b"", folder):
    command = [sys.executable, "-m", "tabtreeformer", *map(str, words)]
    return subprocess.run(command, input=given, capture_output=True, cwd=folder, check=False)


def test_a_table_goes_through_pipes(tmp_path, mixed):
    content = mixed.to_csv(index=False, sep=";").encode()
    words = ["-q", "--privacy", "off", "--preset", "trees"]  # which starts fastest
    done = ttf("fit", "-", "-o", "m.tabtree", *words, given=content, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    done = ttf("sample", "m.tabtree", "-n", 7, "-o", "-", folder=tmp_path)
    assert done.returncode == 0
    assert b"wrote 7 rows" in done.stderr  # and not between the rows
    assert pd.read_csv(io.BytesIO(done.stdout), sep=";").shape == (7, mixed.shape[1])  # as it was read
    assert [path.name for path in tmp_path.iterdir()] == ["m.tabtree"]


def test_faults_of_a_pipe_name_it(monkeypatch):
    for content, message in ((b"a,b\n1\n", "standard input, line 2 has 1 field"), (b"", "standard input is empty")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        with pytest.raises(SchemaError, match=message):
            read_table("-")
    with pytest.raises(SchemaError, match="standard input is read once, not in parts"):
        open_chunks("-")
