"""Made-up people, towns and companies that are not in the table: realistic words by locale, from Faker (extra `fakes`).

The person in row number k has one first and one last name, which determine the mail address, company and street of the
row. No pair of names from the table is written: see `spaces.py`. Which rows have women's names and which have men's is
learned like any category, so that a name agrees with its row. The model stores no words, only how they are chosen; if
Faker is absent, or has different words than during fitting, plain placeholders are written.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...data.schema import TEXT, Schema
from ...data.schema.column import Column
from ...data.schema.meanings import ADDRESS, CITY, COMPANY, EMAIL, FIRST, LAST, PEOPLE, PERSON, POSTAL, STREET, WORDS
from ...errors import ConfigError, MissingExtraError, import_extra
from .row_numbers import RowNumbers
from .spaces import Part

if TYPE_CHECKING:
    from typing_extensions import Self

LOCALES = ("en_US", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "pl_PL", "pt_BR", "sv_SE")
"""Locales to try if none is given."""
DRAWS = 3000
"""Number of words of each kind drawn from Faker to make the lists; many occur more than once."""
DOMAINS = ("example.com", "example.org", "example.net")
"""Reserved domains: no mail address there belongs to anybody."""
LOCALE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")
WOMAN, MAN, EITHER = 0, 1, 2
MIN_NEUTRAL = 20
"""Minimum number of unisex first names to use them for rows whose own name is unisex or unknown."""
TITLES = {
    WOMAN: frozenset({"mrs", "miss", "ms", "mme", "mlle", "frau", "madame", "signora", "senora", "lady", "pani"}),
    MAN: frozenset({"mr", "master", "herr", "monsieur", "signor", "senor", "sir", "pan"}),
}
MIN_KNOWN = 0.6
"""Minimum share of names known to be women's or men's, for distinguishing the two."""
TRIES = 100
"""Maximum pairs of names to try until one is a woman's, or a man's."""


@dataclass(frozen=True)
class Words:
    """The words of one locale, each list sorted."""

    firsts: tuple[str, ...]
    lasts: tuple[str, ...]
    cities: tuple[str, ...]
    streets: tuple[str, ...]
    endings: tuple[str, ...]
    """Endings of company names."""
    postcodes: tuple[str, ...]
    """Forms of postal codes, given as examples."""
    women: frozenset[str]
    men: frozenset[str]
    """First names that only women, or only men, have."""

    @functools.cached_property
    def sexes(self) -> NDArray[np.int64]:
        """Whether each first name is a woman's, a man's, or unisex."""
        return np.array([WOMAN if w in self.women else MAN if w in self.men else EITHER for w in self.firsts])

    @property
    def digest(self) -> str:
        """A fingerprint of the words."""
        text = "\n".join("|".join(own) for own in (self.firsts, self.lasts, self.cities, self.streets, self.endings))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def words_of(locale: str) -> Words:
    """Draw the words of a locale; requires the extra `fakes`."""
    faker = import_extra("faker", "fakes")
    if not LOCALE.fullmatch(locale):
        raise ConfigError(f"{locale!r} is not a locale; give one such as de_DE")
    try:
        source = faker.Faker(locale)
    except AttributeError as error:
        raise ConfigError(f"Faker has no locale {locale!r}; give one such as de_DE") from error
    source.seed_instance(0)

    def drawn(sort: str, n: int = DRAWS) -> tuple[str, ...]:
        make = getattr(source, sort, None)
        return tuple(sorted({str(make()).strip() for _ in range(n)})) if make else ()

    firsts, lasts = drawn("first_name"), drawn("last_name")
    cities, streets = drawn("city", 500), drawn("street_name", 500)
    endings, postcodes = drawn("company_suffix", 100), drawn("postcode", 200)
    women, men = (frozenset(drawn(f"first_name_{sex}")) for sex in ("female", "male"))
    return Words(firsts, lasts, cities, streets, endings, postcodes, women - men, men - women)


@dataclass(frozen=True)
class StandIn:
    """Makes words of one meaning."""

    name: ClassVar[str] = "stand_in"

    meaning: str
    locale: str
    digest: str
    part: Part
    """Which pairs of first and last names are used; the same for all columns of a table."""
    fallback: str
    """What to write if the words are not available; `{n}` is a running number."""
    n_forms: int = 1
    """3 if women's, men's and other names are distinguished."""

    @classmethod
    def learn(cls, column: Column, texts: Sequence[str], floor: int, fallback: str) -> StandIn | None:
        """The maker planned by `with_stand_ins`, if any."""
        if column.stand_in is None or column.meaning is None:
            return None
        locale, digest, n_classes, chosen = column.stand_in.split(":")
        made = cls(column.meaning, locale, digest, Part(int(n_classes), int(chosen)), fallback)
        if column.meaning not in (PERSON, FIRST):
            return made
        told = [made.form_of(text) for text in texts]
        known = sum(form != EITHER for form in told)
        enough = min(told.count(WOMAN), told.count(MAN)) >= floor and known >= MIN_KNOWN * len(told)
        return replace(made, n_forms=3) if enough else made

    @property
    def is_person(self) -> bool:
        """Whether its forms distinguish women and men."""
        return self.n_forms > 1

    def write(self, rows: RowNumbers, rng: np.random.Generator, forms: NDArray[np.int64] | None = None) -> list[str]:
        """One text per row; rows with the same number are about the same person."""
        words = self._words
        if words is None:
            return [self.fallback.replace("{n}", str(int(i) + 1)) for i in rows.numbers]
        pairs = self._pairs_of(rows, words)
        return [self._text(words, int(pair), int(number)) for pair, number in zip(pairs, rows.numbers, strict=True)]

    def _pairs_of(self, rows: RowNumbers, words: Words) -> NDArray[np.int64]:
        """The first and last name of each row, as one number; a woman's or a man's name if the row says which."""
        size = len(words.firsts) * len(words.lasts)
        pairs = self.part.places(rows, size)
        if rows.people is None:
            return pairs
        sexes = words.sexes
        # If the name of a row says neither, another column may: a unisex name contradicts neither.
        told = (rows.people != EITHER) | bool((sexes == EITHER).sum() >= MIN_NEUTRAL)
        wrong = np.flatnonzero(told & (sexes[pairs % len(words.firsts)] != rows.people))
        for k in range(1, TRIES):
            if not len(wrong):
                break
            other = RowNumbers(rows.numbers[wrong] + k * size, rows.seed + k)
            pairs[wrong] = self.part.places(other, size)
            wrong = wrong[sexes[pairs[wrong] % len(words.firsts)] != rows.people[wrong]]
        return pairs

    @property
    def _words(self) -> Words | None:
        try:
            words = words_of(self.locale)
        except MissingExtraError:
            return None
        return words if words.digest == self.digest else None

    def _text(self, words: Words, pair: int, number: int) -> str:
        last, first = divmod(pair, len(words.firsts))
        given, family = words.firsts[first], words.lasts[last]
        city = pair % len(words.cities)
        road, house = words.streets[pair % len(words.streets)], 1 + pair % 120
        street = f"{road} {house}" if self.locale != "en_US" else f"{house} {road}"
        code = words.postcodes[city % len(words.postcodes)]
        place = f"{code} {words.cities[city]}" if self.locale != "en_US" else f"{words.cities[city]} {code}"
        return {
            PERSON: f"{given} {family}",
            FIRST: given,
            LAST: family,
            EMAIL: f"{_letters(given)}.{_letters(family)}{pair % 97 or ''}@{DOMAINS[pair % len(DOMAINS)]}",
            COMPANY: f"{family} {words.endings[pair % len(words.endings)]}" if words.endings else f"{family} & Co.",
            CITY: words.cities[city],
            POSTAL: code,
            STREET: street,
            ADDRESS: f"{street}, {place}",
        }[self.meaning]

    def form_of(self, text: str) -> int:
        """Whether a name is a woman's or a man's, by its title or first names; other words have just one form."""
        words = self._words
        if words is None or self.meaning not in (PERSON, FIRST):
            return 0
        tokens = re.split(r"[\s,.()]+", text)
        for sex, titles in TITLES.items():
            if any(token.lower() in titles for token in tokens):
                return sex
        # First names come first, or after a comma: many last names (James, Scott) are first names too.
        last, comma, first = text.partition(",")
        for token in re.split(r"[\s,.()]+", f"{first} {last}" if comma else text):
            if token in words.women or token in words.men:
                return WOMAN if token in words.women else MAN
        return EITHER

    @property
    def example(self) -> str:
        """An example text."""
        return self.write(RowNumbers.first(1), np.random.default_rng(0))[0]

    @property
    def longest(self) -> int:
        """Words are short."""
        return 200

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        names = ("meaning", "locale", "digest", "fallback")
        forms = {"n_forms": self.n_forms} if self.n_forms > 1 else {}
        return {**{name: getattr(self, name) for name in names}, "part": list(self.part), **forms}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`."""
        part = Part(*map(int, data["part"]))
        if data["meaning"] not in (*WORDS, EMAIL, POSTAL) or not LOCALE.fullmatch(data["locale"]):
            raise ValueError("a stand-in has an unknown meaning or locale")
        if not 0 <= part.chosen < part.n_classes < 10**9 or len(data["fallback"]) > 1000:
            raise ValueError("a stand-in has a class that it does not have")
        forms = data.get("n_forms", 1)
        if forms not in (1, 3) or (forms == 3 and data["meaning"] not in (PERSON, FIRST)):
            raise ValueError("a stand-in distinguishes people that it cannot")
        return cls(data["meaning"], data["locale"], str(data["digest"]), part, data["fallback"], int(forms))


def with_stand_ins(schema: Schema, df: pd.DataFrame) -> Schema:
    """The schema with instructions in columns of words for choosing them; unchanged if the extra is absent."""
    own = [c for c in schema.columns if c.meaning in (*WORDS, EMAIL, POSTAL) and c.sort == "label"]
    if not any(c.meaning == CITY and c.kind == TEXT for c in own):
        own = [c for c in own if c.meaning != POSTAL]  # codes then follow the learned towns
    if not any(c.meaning in (*WORDS, EMAIL) for c in own):
        return schema
    try:
        words_of("en_US")
    except MissingExtraError:
        return schema
    locale = next((c.locale for c in own if c.locale), None) or _locale(own, df)
    words = words_of(locale)
    part = Part.free_of(_pairs(own, df, words), len(words.firsts) * len(words.lasts), 100, np.random.default_rng(0))
    planned = f"{locale}:{words.digest}:{part.n_classes}:{part.chosen}"
    names = {c.name for c in own}
    return replace(
        schema, columns=tuple(replace(c, stand_in=planned) if c.name in names else c for c in schema.columns)
    )


def _locale(columns: Sequence[Column], df: pd.DataFrame) -> str:
    """The locale that fits the names of most people in the table, or their mail addresses."""
    for column in columns:
        ends = df[column.name].dropna().astype(str).str.extract(r"\.([a-z]{2})$", expand=False).dropna()
        if column.meaning == EMAIL and len(ends) > len(df) / 3:
            country = ends.mode().iloc[0]
            return next((own for own in LOCALES if own.endswith(country.upper())), LOCALES[0])
    named = next((c for c in columns if c.meaning in (PERSON, FIRST, LAST)), None)
    if named is None:
        return LOCALES[0]
    texts = df[named.name].dropna().astype(str).unique()[:500]
    found = {token for text in texts for token in re.split(r"[\s,]+", text) if token}
    shares = {}
    for locale in LOCALES:
        words = words_of(locale)
        shares[locale] = len(found & ({*words.firsts} | {*words.lasts})) / max(len(found), 1)
    return max(shares, key=lambda locale: (shares[locale], -LOCALES.index(locale)))


def _pairs(columns: Sequence[Column], df: pd.DataFrame, words: Words) -> list[int]:
    """Places of the pairs of names in the table: in one column, or in a first-name and a last-name column."""
    firsts = {word: k for k, word in enumerate(words.firsts)}
    lasts = {word: k for k, word in enumerate(words.lasts)}
    by_meaning = {c.meaning: c.name for c in columns if c.meaning in PEOPLE}
    people: list[list[str]] = []
    if PERSON in by_meaning:
        people += [re.split(r"[\s,]+", text) for text in df[by_meaning[PERSON]].dropna().astype(str).unique()]
    if FIRST in by_meaning and LAST in by_meaning:
        pairs = df[[by_meaning[FIRST], by_meaning[LAST]]].dropna().astype(str).drop_duplicates()
        people += pairs.to_numpy().tolist()
    return [
        lasts[b] * len(words.firsts) + firsts[a]
        for tokens in people
        for a in tokens
        for b in tokens
        if a in firsts and b in lasts
    ]


def _letters(word: str) -> str:
    """A word as written in a mail address."""
    for mark, plain in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("ł", "l"), ("ø", "o")):
        word = word.lower().replace(mark, plain)
    plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z]+", "", plain) or "someone"
