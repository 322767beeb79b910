"""A cluster: the rows of a run in which a worker dies are those of a run in which none does."""

import os
import sys
import warnings

import pytest
from pandas.testing import assert_frame_equal

from tabtreeformer import read_table
from tabtreeformer._runtime.progress import Silent
from tabtreeformer._runtime.seeds import seed_sequence
from tabtreeformer.sampling import BLOCK
from tabtreeformer.sampling.streaming import SampleRequest, Workers, check_stream_target, stream

from .conftest import WORK, check_jobs

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers of Ray on this machine, which import what is in a folder."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'tabtreeformer[ray]'")
    folder = tmp_path_factory.mktemp("modules")
    (folder / "dying.py").write_text(DYING)
    (folder / "some_work.py").write_text(WORK)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")  # ray has warnings of its own
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, sys.path)]))
        patch.syspath_prepend(folder)
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        except Exception as error:  # Ray gives its own processes 30 seconds, which a machine full of work does not
            pytest.skip(f"Ray could not start a node on this machine: {error}")
        yield
        ray.shutdown()


@pytest.mark.filterwarnings("default")
def test_jobs_are_done_and_a_worker_that_dies_is_replaced(cluster, tmp_path):
    check_jobs("ray", "some_work:Work", tmp_path)


@pytest.mark.filterwarnings("default")
def test_a_worker_of_a_cluster_that_dies_changes_no_row(streamed, whole, tmp_path, cluster):
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
