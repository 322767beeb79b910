"""Made tables with the columns and laws of two well-known ones: flights that left New York, and houses sold in Ames."""

import numpy as np
import pandas as pd


def clock(minutes):
    """Minutes since midnight as 1435; midnight is 2400, as arrivals have it."""
    whole = np.asarray(minutes) % 1440
    return np.where(whole == 0, 2400, whole // 60 * 100 + whole % 60)


def flights(n=4000, seed=0):
    """19 columns: clock times as numbers, delays around midnight, cancelled flights, a timestamp in UTC."""
    r = np.random.default_rng(seed)
    day = pd.Timestamp("2013-01-01") + pd.to_timedelta(r.integers(0, 365, n), unit="D")
    day = pd.DatetimeIndex(day)
    hour = r.choice(np.arange(5, 24), n)
    minute = np.where(r.random(n) < 0.6, r.integers(0, 12, n) * 5, r.integers(0, 60, n))
    sched = hour * 60 + minute
    origin = r.choice(["EWR", "JFK", "LGA"], n)
    dests = np.array([f"D{k:02d}" for k in range(25)])
    dest = r.choice(25, n, p=r.dirichlet(np.full(25, 3.0)))
    miles = np.random.default_rng(1).integers(180, 2500, (3, 25))
    distance = miles[np.searchsorted(["EWR", "JFK", "LGA"], origin), dest]
    late = np.where(r.random(n) < 0.6, r.integers(-12, 5, n), r.exponential(40, n).astype(int)).astype(float)
    air = np.maximum((distance / 7.4 + r.normal(18, 6, n)).round(), 20)
    planned = (distance / 7.4 + 45).round(-1)
    arrived = late + (air + 30 + r.integers(-8, 9, n)) - planned
    cancelled, lost = r.random(n) < 0.025, r.random(n) < 0.004
    dep, arr = (clock(sched + late)).astype(float), clock(sched + planned + arrived).astype(float)
    dep[cancelled], late[cancelled] = np.nan, np.nan
    for column in (arr, arrived, air):
        column[cancelled | lost] = np.nan
    carrier = r.choice(["UA", "B6", "EV", "DL", "AA", "WN"], n, p=[0.25, 0.2, 0.2, 0.15, 0.15, 0.05])
    zone = (day + pd.to_timedelta(hour, unit="h")).tz_localize("America/New_York").tz_convert("UTC")
    return pd.DataFrame(
        {
            "year": 2013, "month": day.month, "day": day.day, "dep_time": dep, "sched_dep_time": hour * 100 + minute,
            "dep_delay": late, "arr_time": arr, "sched_arr_time": clock(sched + planned).astype(int),
            "arr_delay": arrived, "carrier": carrier, "flight": r.integers(1, 6000, n),
            "tailnum": [f"N{k}" for k in r.integers(100, 900, n)], "origin": origin, "dest": dests[dest],
            "air_time": air, "distance": distance, "hour": hour, "minute": minute,
            "time_hour": zone.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )  # fmt: skip


QUALITY = ["Ex", "Gd", "TA", "Fa", "Po"]


def houses(n=1460, seed=0):
    """81 columns: areas that add up, years in order, five garage columns and four of the basement missing together."""
    r = np.random.default_rng(seed)
    built = np.clip(r.normal(1972, 28, n).astype(int), 1872, 2009)
    sold = r.integers(2006, 2011, n)
    built = np.minimum(built, sold)
    remod = np.where(r.random(n) < 0.5, built, built + (r.random(n) * (sold - built + 1)).astype(int))
    style = r.choice(["1Story", "2Story", "1.5Fin", "SLvl"], n, p=[0.5, 0.3, 0.12, 0.08])
    first = (r.lognormal(7.0, 0.3, n)).astype(int)
    second = np.where(style == "1Story", 0, (first * r.uniform(0.5, 1.05, n)).astype(int))
    low = np.where(r.random(n) < 0.04, r.integers(50, 500, n), 0)
    cellar = np.where(r.random(n) < 0.55, first, (first * r.uniform(0.4, 1.0, n)).astype(int))
    none = r.random(n) < 0.03
    cellar[none] = 0
    finished = np.where(r.random(n) < 0.35, 0, (cellar * r.random(n)).astype(int))
    more = np.where((r.random(n) < 0.88) | (finished == 0), 0, ((cellar - finished) * r.random(n)).astype(int))
    garage = r.choice(["Attchd", "Detchd", "BuiltIn"], n, p=[0.65, 0.28, 0.07]).astype(object)
    garage[r.random(n) < 0.07] = None
    no_garage = pd.isna(garage)
    garage_built = np.where(r.random(n) < 0.8, built, np.minimum(built + r.integers(0, 30, n), sold)).astype(float)
    odd = r.random(n) < 0.008
    garage_built[odd] = built[odd] - r.integers(1, 20, int(odd.sum()))
    garage_built[no_garage] = np.nan
    cars = np.where(no_garage, 0, r.choice([1, 2, 3], n, p=[0.28, 0.6, 0.12]))
    baths = r.integers(1, 4, n)
    columns = {
        "Id": np.arange(1, n + 1), "LotFrontage": r.normal(70, 22, n).round(),
        "LotArea": r.lognormal(9.1, 0.4, n).astype(int),
        "HouseStyle": style, "OverallQual": r.integers(2, 11, n), "YearBuilt": built, "YearRemodAdd": remod,
        "BsmtFinSF1": finished, "BsmtFinSF2": more, "BsmtUnfSF": cellar - finished - more, "TotalBsmtSF": cellar,
        "1stFlrSF": first, "2ndFlrSF": second, "LowQualFinSF": low, "GrLivArea": first + second + low,
        "FullBath": baths, "TotRmsAbvGrd": baths + r.integers(3, 8, n),
        "GarageType": garage, "GarageYrBlt": garage_built,
        "GarageFinish": _missing(r.choice(["Fin", "RFn", "Unf"], n), no_garage),
        "GarageQual": _missing(r.choice(QUALITY[1:4], n), no_garage),
        "GarageCond": _missing(r.choice(QUALITY[1:4], n), no_garage), "GarageCars": cars,
        "GarageArea": cars * 250 + np.where(no_garage, 0, r.integers(0, 150, n)),
        "BsmtQual": _missing(r.choice(QUALITY[:4], n), none), "BsmtCond": _missing(r.choice(QUALITY[1:4], n), none),
        "BsmtExposure": _missing(r.choice(["Gd", "Mn", "Av", "No"], n), none),
        "BsmtFinType1": _missing(np.where(finished == 0, "Unf", r.choice(["GLQ", "ALQ", "BLQ"], n)), none),
        "MoSold": r.integers(1, 13, n), "YrSold": sold,
        "SalePrice": (first * 110 + second * 60 + r.normal(0, 20_000, n)).round(-2).clip(35_000).astype(int),
    }  # fmt: skip
    names = ["MSZoning", "Street", "LotShape", "Condition1", "RoofStyle", "Heating", "Electrical", "Functional"]
    for k in range(81 - len(columns)):
        name = f"{names[k % len(names)]}{k // len(names) or ''}"
        columns[name] = r.choice(QUALITY, n) if k % 3 else r.poisson(2, n)
    return pd.DataFrame(columns)


def _missing(labels, rows):
    labels = labels.astype(object)
    labels[rows] = None
    return labels


def _minutes(numbers):
    return numbers // 100 * 60 + numbers % 100


AFTER = ["dep_delay", "arr_time", "arr_delay", "air_time"]


def flight_laws(df):
    """Shares of rows that keep each law of the flights, of those in which it applies."""
    local = pd.to_datetime(df["time_hour"], utc=True).dt.tz_convert("America/New_York")
    late = (_minutes(df["dep_time"]) - _minutes(df["sched_dep_time"]) - df["dep_delay"]) % 1440
    arrived = (_minutes(df["arr_time"]) - _minutes(df["sched_arr_time"]) - df["arr_delay"]) % 1440
    clocks = df[["dep_time", "sched_dep_time", "arr_time", "sched_arr_time"]]
    routes = df.groupby(["origin", "dest"])["distance"].nunique()
    parts = (local.dt.month == df["month"]) & (local.dt.day == df["day"]) & (local.dt.hour == df["hour"])
    return {
        "departure delay": (late[late.notna()] == 0).mean(),
        "arrival delay": (arrived[arrived.notna()] == 0).mean(),
        "clock times": ((clocks % 100 < 60) | clocks.isna()).all(axis=1).mean(),
        "distance of the route": (routes == 1).mean(),
        "hour and minute": (df["sched_dep_time"] == df["hour"] * 100 + df["minute"]).mean(),
        "timestamp": (parts & (local.dt.year == df["year"])).mean(),
        "cancelled": df.loc[df["dep_time"].isna(), AFTER].isna().all(axis=1).mean(),
    }  # fmt: skip


def house_laws(df):
    """Shares of rows that keep each law of the houses."""
    gaps = df[["GarageType", "GarageYrBlt", "GarageFinish", "GarageQual", "GarageCond"]].isna()
    cellar = df[["BsmtQual", "BsmtCond", "BsmtExposure", "BsmtFinType1"]].isna()
    known = df["GarageYrBlt"].notna()
    return {
        "basement": (df["TotalBsmtSF"] == df["BsmtFinSF1"] + df["BsmtFinSF2"] + df["BsmtUnfSF"]).mean(),
        "floors": (df["GrLivArea"] == df["1stFlrSF"] + df["2ndFlrSF"] + df["LowQualFinSF"]).mean(),
        "remodelled before sold": (df["YearRemodAdd"] <= df["YrSold"]).mean(),
        "remodelled after built": (df["YearRemodAdd"] >= df["YearBuilt"]).mean(),
        "garage gaps": (gaps.all(axis=1) | ~gaps.any(axis=1)).mean(),
        "no garage": ((df["GarageCars"] == 0) == gaps["GarageType"]).mean(),
        "basement gaps": (cellar.all(axis=1) | ~cellar.any(axis=1)).mean(),
        "one story": (df.loc[df["HouseStyle"] == "1Story", "2ndFlrSF"] == 0).mean(),
        "garage not older": (df["GarageYrBlt"] >= df["YearBuilt"])[known].mean(),
    }
