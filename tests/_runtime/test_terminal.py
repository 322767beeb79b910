import io

import pytest

from tabtreeformer._runtime.terminal import line_for, wrapped


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_long_line_is_broken_between_words_of_a_terminal():
    lines = wrapped("  level balanced: the limit is 0.56, and " + "x" * 60 + " ends it", 50).split("\n")
    assert lines == ["  level balanced: the limit is 0.56, and", "    " + "x" * 60, "    ends it"]


@pytest.mark.parametrize(("stream", "n_lines"), [(io.StringIO(), 1), (Terminal(), 3)])
def test_a_file_gets_a_line_whole_and_nothing_moves_the_cursor(monkeypatch, stream, n_lines):
    monkeypatch.setenv("COLUMNS", "50")
    line = line_for(stream, "a column \x1b[2J that somebody named, " + "and more words " * 6)
    assert line.count("\n") == n_lines - 1
    assert "\x1b" not in line
    assert "\\u001b[2J" in line
