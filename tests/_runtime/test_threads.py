"""Threads of PyTorch, whether it is imported already or later."""

import os
import sys

import torch

from tabtreeformer._runtime import threads


def test_cores_are_left_alone_by_a_torch_that_is_there_and_by_one_that_comes_later(monkeypatch):
    monkeypatch.setattr(threads, "_most_cores", None)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
    before = torch.get_num_threads()
    try:
        threads.use_cores(before + 1)
        assert torch.get_num_threads() == before + 1
        assert os.environ["OMP_NUM_THREADS"] == "7"
    finally:
        torch.set_num_threads(before)
    monkeypatch.delitem(sys.modules, "torch")
    threads.use_cores(1)
    assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert threads.available_cores() == 1
