"""A cluster: the rows of a run in which a worker dies are those of a run in which none does."""

import os
import sys

import pytest
from pandas.testing import assert_frame_equal

from tabtreeformer import read_table
from tabtreeformer._runtime.progress import Silent
from tabtreeformer._runtime.seeds import seed_sequence
from tabtreeformer.sampling import BLOCK
from tabtreeformer.sampling.streaming import SampleRequest, Workers, check_stream_target, stream

DYING = '''
import os, pathlib, signal
from tabtreeformer.sampling.streaming.work import PartWork

class Dying(PartWork):
    """Dies while it has the second part, once."""

    def __call__(self, job):
        died = pathlib.Path(self.writer.settings["folder"]).parent / "died"
        if job == 1 and not died.exists():
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(job)
'''


@pytest.mark.filterwarnings("default")  # ray has warnings of its own
def test_a_worker_of_a_cluster_that_dies_changes_no_row(streamed, whole, tmp_path, monkeypatch, start_ray):
    (tmp_path / "dying.py").write_text(DYING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    start_ray()
    stream(
        streamed._as_it_is(),
        SampleRequest(n=len(whole), seed=seed_sequence(5)),
        check_stream_target(f"{tmp_path}/rows.parquet"),
        Silent(),
        batch_size=BLOCK,
        workers=Workers(2, "ray", "dying:Dying"),
    )
    assert int((tmp_path / "died").read_text()) != os.getpid()
    assert_frame_equal(read_table(tmp_path / "rows.parquet"), whole)
