"""Every law that an analyst knows of flights and houses holds in the rows that are written."""

import pytest

from tabtreeformer import TabTreeFormer

from .replicas import flight_laws, flights, house_laws, houses

TABLES = {"flights": (flights, flight_laws), "houses": (houses, house_laws)}
NEAR = {"garage not older": 0.01}
"""Laws that the tables themselves break, and how far rows may be from the real share."""


def check(preset, table, **settings):
    make, laws = TABLES[table]
    df = make()
    real = laws(df)
    model = TabTreeFormer(preset, privacy="off", random_state=0, verbose=False, **settings).fit(df)
    rows = laws(model.sample(len(df), random_state=0))
    assert {law for law, share in real.items() if share < 1} <= set(NEAR)
    assert {law: share for law, share in rows.items() if law not in NEAR and share < 1} == {}
    for law in NEAR.keys() & rows.keys():
        assert abs(rows[law] - real[law]) <= NEAR[law], law


@pytest.mark.parametrize("table", TABLES)
def test_every_law_of_the_table_holds_in_rows_of_trees(table):
    check("trees", table)


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_every_law_of_the_table_holds_in_rows_of_the_network(table):
    check("auto", table)
