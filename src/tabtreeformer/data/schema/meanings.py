"""What texts mean: e-mail and IP addresses, account numbers, names of people.

A text with a meaning is never split up and reassembled: it is replaced by one with the same meaning. Meanings with a
form are recognised by it in every value; meanings of words (a name, a town) by the name of the column.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence

EMAIL, URL, IPV4, IPV6, UUID, IBAN = "email", "url", "ipv4", "ipv6", "uuid", "iban"
PHONE, POSTAL, HEX, JSON = "phone", "postal code", "hex", "json"
PERSON, FIRST, LAST, COMPANY = "person", "first name", "last name", "company"
STREET, CITY, ADDRESS = "street", "city", "address"
MEANINGS = (
    *(EMAIL, URL, IPV4, IPV6, UUID, IBAN, PHONE, POSTAL, HEX, JSON),
    *(PERSON, FIRST, LAST, COMPANY, STREET, CITY, ADDRESS),
)
WORDS = (PERSON, FIRST, LAST, COMPANY, STREET, CITY, ADDRESS)
"""Meanings of words: realistic ones need the extra `fakes`."""
PERSONAL = (PERSON, EMAIL, PHONE, IBAN, ADDRESS, IPV4, IPV6, UUID)
"""Meanings whose values belong to a person: none is kept, however many rows have it."""
PEOPLE = (PERSON, FIRST, LAST, EMAIL)
"""Meanings that refer to one person, so they agree within a row."""

SAID = {
    EMAIL: "mail addresses",
    URL: "web addresses",
    IPV4: "IP addresses",
    IPV6: "IP addresses",
    UUID: "UUIDs",
    IBAN: "account numbers (IBAN)",
    PHONE: "phone numbers",
    HEX: "hexadecimal numbers",
    PERSON: "names of people",
    COMPANY: "companies",
    CITY: "towns",
    ADDRESS: "addresses",
}
"""Names of meanings in reasons."""

NEARLY_ALL = 0.95
"""Share of texts that must have the form of a meaning; a few may be misspelled."""
MAX_TEXTS = 2000
"""Maximum number of texts to inspect."""
MANY_NAMES, MANY_SHARED, MANY_JOINED = 50, 0.15, 0.05
"""Names are of things if, of at least this many, more than this share have one word in common, or if more than this
share have `of` or the like."""
_JOINING = {"of", "the", "The", "and", "And", "for", "in", "&", "-"}
_TITLES = {"mr", "mrs", "ms", "miss", "master", "dr", "prof", "herr", "frau", "mme", "m"}
_EMAIL = re.compile(r"[\w.+%'-]+@[\w-]+(\.[\w-]+)+")
_URL = re.compile(r"(https?|ftp)://[^\s/]+\.[^\s/]+(/\S*)?|www\.[^\s/]+\.[^\s/]+(/\S*)?", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_PHONE = re.compile(r"(\+|00|0|\()[\d ()/.-]{5,22}\d")
_LOCAL_PHONE = re.compile(r"\d{3}[ .-]\d{3}[ .-]\d{4}|\d{3}[ .-]\d{4}")
_HEX = re.compile(r"(#|0x)?([0-9a-f]+|[0-9A-F]+)")
_POSTAL = re.compile(r"(?=.*\d)([A-Z]{1,2}-)?[0-9A-Z]{2,5}([ -]?[0-9A-Z]{2,4})?")
_THINGS = "product|file|column|brand|host|domain|class|event|table|model|item|team|project|game|movie|song|book|user"
"""Other things that have names."""
_NAMED: Sequence[tuple[str, str]] = (
    (FIRST, r"first ?name|given ?name|forename|vorname|prenom|prénom|nombre"),
    (LAST, r"last ?name|sur ?name|family ?name|nachname|familienname|apellidos?"),
    (COMPANY, r"company|employer|firma|firmenname|organi[sz]ation|vendor ?name|supplier ?name|entreprise"),
    (STREET, r"street( ?name)?|stra(ß|ss)e|rue|calle"),
    (ADDRESS, r"(street ?)?address|anschrift|adresse|address ?line ?1?"),
    (CITY, r"city|town|ort|stadt|wohnort|ville|ciudad"),
    (PERSON, rf"(?!({_THINGS}) )(\w+ )?name|kunde|person|fullname|patient|customer|buyer|seller|employee"),
)
_PHONE_WORDS = re.compile(r"phone|mobile|telefon|tel|handy|fax|cell|rufnummer")
_POSTAL_WORDS = re.compile(r"zip|zip ?code|post ?code|postal|postal ?code|plz|postleitzahl|code postal")


def find_meaning(name: str | int, texts: Sequence[str]) -> str | None:
    """The meaning shared by nearly all distinct texts of a column, or None."""
    texts = texts[:MAX_TEXTS]
    if len(texts) < 2:
        return None
    words = _words(name)
    for meaning in _TESTS:
        if sum(bool(_TESTS[meaning](text)) for text in texts) >= NEARLY_ALL * len(texts):
            return meaning
    if _POSTAL_WORDS.search(words) and all(_POSTAL.fullmatch(text) for text in texts):
        return POSTAL
    if _PHONE_WORDS.search(words) and all(_is_phone(text) for text in texts):
        return PHONE
    if _is_hex(texts):
        return HEX
    return _meaning_of_words(words, texts)


def has_meaning(meaning: str, text: str) -> bool:
    """Whether a text has the form of its column's meaning; True for meanings without a form."""
    test = _is_phone if meaning == PHONE else _TESTS.get(meaning)
    return test is None or bool(test(text))


def _meaning_of_words(words: str, texts: Sequence[str]) -> str | None:
    """The meaning by column name, if the texts are words: mostly capitalised, no digits except in addresses."""
    named = next((meaning for meaning, form in _NAMED if re.fullmatch(form, words)), None)
    if named is None or named in (ADDRESS, STREET):
        spaced = sum(" " in text for text in texts) > len(texts) / 2
        return named if named is None or spaced or named == STREET else None
    plain = [text for text in texts if not any(c.isdigit() for c in text) and text[:1].isupper()]
    if len(plain) < 0.9 * len(texts):
        return None
    if named == PERSON and sum(" " in text or "," in text for text in texts) < 0.8 * len(texts):
        return None
    return None if named == PERSON and words == "name" and _of_things(texts) else named


def _of_things(texts: Sequence[str]) -> bool:
    """Whether names are of things: many share a word (Airport), or have words that people's names do not (of, the)."""
    held = [{word for word in re.findall(r"[^\s,]+", text) if not word.endswith(".")} for text in texts]
    joined = sum(not own.isdisjoint(_JOINING) for own in held)
    common = Counter(word for own in held for word in own if word.lower() not in _TITLES)
    most = max(common.values(), default=0)
    return joined > MANY_JOINED * len(texts) or (len(texts) >= MANY_NAMES and most > MANY_SHARED * len(texts))


def _words(name: str | int) -> str:
    """The words of a column name, in lower case, separated by spaces."""
    parts = re.findall(r"[A-ZÄÖÜ]?[a-zäöüßé]+|[A-ZÄÖÜ]+|\d+", str(name))
    return " ".join(part.lower() for part in parts)


def _is_ip(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def is_iban(text: str) -> bool:
    """Whether the check digits of an account number are correct."""
    plain = text.replace(" ", "")
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{10,30}", plain):
        return False
    return iban_remainder(plain) == 1


def iban_remainder(plain: str) -> int:
    """The account number (without spaces) modulo 97, with letters counting from 10."""
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97


def _is_phone(text: str) -> bool:
    digits = sum(c.isdigit() for c in text)
    return 6 <= digits <= 15 and bool(_PHONE.fullmatch(text) or _LOCAL_PHONE.fullmatch(text) or text.isdigit())


def _is_written_phone(text: str) -> bool:
    """Whether a text is a phone number by its form alone: it starts with + or (, and is not a date or number."""
    return text[:1] in "+(" and not text[1:].replace(".", "").isdigit() and _is_phone(text)


def _is_hex(texts: Sequence[str]) -> bool:
    """Whether texts are hexadecimal, of at most two lengths, with both digits and letters."""
    if not all(_HEX.fullmatch(text) and len(text) >= 6 for text in texts) or len({len(text) for text in texts}) > 2:
        return False
    letters = "".join(texts).removeprefix("0x").lower()
    marked = all(text.startswith(("#", "0x")) for text in texts)
    mixed = sum(any(c in "abcdef" for c in text.lower()) and any(c.isdigit() for c in text) for text in texts)
    return (marked or mixed > 0.8 * len(texts)) and any(c.isdigit() for c in letters)


def _is_json(text: str) -> bool:
    if text[:1] + text[-1:] not in ("{}", "[]"):
        return False
    try:
        json.loads(text)
    except ValueError:
        return text[:1] == "[" and "'" in text  # a list as Python prints it
    return True


_TESTS: dict[str, Callable[[str], object]] = {
    EMAIL: _EMAIL.fullmatch,
    URL: _URL.fullmatch,
    UUID: _UUID.fullmatch,
    IBAN: is_iban,
    IPV4: lambda text: _is_ip(text, 4),
    IPV6: lambda text: _is_ip(text, 6),
    JSON: _is_json,
    PHONE: _is_written_phone,
}
