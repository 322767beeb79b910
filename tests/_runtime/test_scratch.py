"""Temporary folders are gone at the end, and those of killed processes at the next start."""

import signal
import subprocess
import sys

import pytest

from tabtreeformer._runtime.scratch import Scratch, scratch_folder
from tabtreeformer.errors import OutputError

HOLD = (
    "import sys, time; from tabtreeformer._runtime.scratch import Scratch; s = Scratch(sys.argv[1]); "
    "(s.path / 'tokens.bin').write_text('x'); print(s.path, flush=True); time.sleep(600)"
)


def test_a_folder_is_gone_when_its_block_ends_however_it_ends(tmp_path):
    with pytest.raises(ZeroDivisionError), scratch_folder(tmp_path) as folder:
        (folder / "tokens.bin").write_text(str(1 // 0))
    assert not list(tmp_path.iterdir())


def test_the_folder_of_a_killed_process_is_gone_at_the_next_start_and_that_of_a_living_one_stays(tmp_path):
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        killed, living = (process.stdout.readline().strip() for process in processes)
        processes[0].send_signal(signal.SIGKILL)
        processes[0].wait()
        own = Scratch(tmp_path)
        assert {str(path) for path in tmp_path.iterdir()} == {living, str(own.path)}
        assert killed not in {living, str(own.path)}
        other = Scratch(tmp_path)  # of the same process
        assert own.path.exists()
        for scratch in (own, other):
            scratch.remove()
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()


def test_a_folder_of_that_name_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / "tabtree-mine").mkdir()
    (tmp_path / "tabtree-mine" / "notes.txt").write_text("keep")
    Scratch(tmp_path).remove()
    assert (tmp_path / "tabtree-mine" / "notes.txt").exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    with pytest.raises(OutputError, match="cannot write to the folder for temporary files"):
        Scratch(tmp_path / "nowhere")
