import warnings

import pandas as pd

from tabtreeformer import Schema
from tabtreeformer._runtime.warning import warn


def test_a_warning_points_to_the_line_of_who_called():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn("here", UserWarning)
        Schema.infer(pd.DataFrame({"tags": [["a"], ["b"]] * 20}))
    assert [warning.filename for warning in said] == [__file__, __file__]
