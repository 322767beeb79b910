from __future__ import annotations

import pytest

from tabtreeformer.errors import ArchiveError
from tabtreeformer.trees.none import NoTrees


def test_there_are_rows_but_no_trees(make):
    features, target = make("number", n_rows=7)
    model = NoTrees({}, 0).fit(features, target)
    assert model.n_leaves == ()
    assert model.leaves(features).shape == (7, 0)
    assert model.predict(features).shape == (7,)


def test_only_the_empty_text_is_no_trees():
    assert NoTrees.from_text("").to_text() == ""
    with pytest.raises(ArchiveError):
        NoTrees.from_text("tree\nversion=v4")
