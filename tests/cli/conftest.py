import pytest

from tabtreeformer.cli import main


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run `ttf` in a temporary folder; returns exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return end.value.code, out, err

    return run
