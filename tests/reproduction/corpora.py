"""Small corpora in the files and forms that recipes read."""

from __future__ import annotations

CONLL = "He PRP B-NP\nsaw VBD B-VP\nthe DT B-NP\ndog NN I-NP\n\nDogs NNS B-NP\nbark VBP B-VP\n\n"
GENIA = (
    "UI\tLS\n-\t:\n95\tCD\n\nTI\tLS\n-\t:\nIL-2\tNN\ngene\tNN\n\nIt\tPRP\nbinds\tVBZ\nDNA\tNN\n\n"
)
JNLPBA = "###MEDLINE:95\n\nIL-2\tB-DNA\ngene\tI-DNA\n\nIt\tO\nbinds\tO\n\n"
CONLLU = (
    "# text = We don't\n1\tWe\twe\tPRON\tPRP\n2-3\tdon't\t_\t_\t_\n2\tdo\tdo\tAUX\tVBP\n"
    "3\tn't\tnot\tPART\tRB\n\n1\tGo\tgo\tVERB\tVB\n1.1\tnow\t_\t_\t_\n\n"
)
PKU = "我们  在  北京\n北京  在  哪里  ２０  年\n"
PEOPLE = "江/nr  泽民/nr  在/p  北京/ns  讲话/v\n新华社/nt  记者/n  李/nr  鹏/nr  、/w  布什/nr\n"
REVIEWS = {"negative": "bad:2 book:1 #label#:negative\n", "positive": "good:1 #label#:positive\n"}


def write_corpora(folder):
    """Write all of them; every file holds the same few sentences some times."""
    files = {
        "conll2000/train.txt": CONLL * 10,
        "conll2000/test.txt": CONLL,
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
