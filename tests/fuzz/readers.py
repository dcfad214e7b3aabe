"""Targets that read text: data in every format, templates, dictionaries, labels."""

from __future__ import annotations

import functools
import io
import json

import adaptag
from adaptag.corpus.annotation_files import checked_brat, read_records
from adaptag.corpus.attributes import AttributeCorpus
from adaptag.corpus.columns import ColumnCorpus, ColumnFormat
from adaptag.corpus.documents import Documents
from adaptag.corpus.segmented import SegmentedCorpus
from adaptag.corpus.settings import DocumentFormat
from adaptag.corpus.span_files import span_corpus
from adaptag.corpus.tokenizers import TOKENIZERS
from adaptag.dataset.encoded import Dataset
from adaptag.errors import AdaptagError
from adaptag.features.settings import FeatureSettings
from adaptag.features.template import Template
from adaptag.segmentation.dictionary import UserDictionary
from tests.fuzz.mutation import mutate_json
from tests.fuzz.target import Target, stored

PLAIN = FeatureSettings(template="U:%x[0,0]\nB")
ATTRIBUTES = FeatureSettings()
COLUMNS = b"The\tDT\tB-NP\ncat\tNN\tI-NP\n\n# c\n-DOCSTART- -X- O\n\nsat\tVB\tO\n"
RECORDS = [
    {"text": "Ada Lovelace wrote.\nSo.", "spans": [[0, 12, "PER"], [20, 22, "X"]]},
    {"tokens": ["Ada", "wrote"], "tags": ["B-PER", "O"]},
    {"text": "in Paris", "label": [[3, 8, "LOC"]], "probabilities": [0.5]},
]
TASKS = [
    {
        "data": {"text": "Ada wrote"},
        "annotations": [
            {
                "result": [
                    {"type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}},
                    {"value": {"start": 4, "end": 9, "text": "wrote", "labels": ["V"]}},
                ]
            }
        ],
    }
]


def build(corpus):
    """Encode a corpus, as training does."""
    settings = ATTRIBUTES if isinstance(corpus, AttributeCorpus) else PLAIN
    return Dataset.build(corpus, settings, threads=1)


def read_columns(data):
    flags = data[0] if data else 0
    column_format = ColumnFormat(
        ["auto", "tab", "space"][flags % 3], "#" if flags & 4 else "", bool(flags & 8)
    )
    corpus = ColumnCorpus.from_bytes(data[1:], format=column_format, threads=1)
    read = [len(c) for c in ColumnCorpus.read_parts(io.BytesIO(data[1:]), column_format, size=16)]
    if b"\r" not in data:  # the first block of a file decides whether it is a line end
        assert sum(read) == len(corpus)
    build(corpus)


def read_attributes(data):
    build(AttributeCorpus.from_bytes(data))


def read_segmented(data):
    corpus = SegmentedCorpus.from_bytes(data)
    again = SegmentedCorpus.from_sentences(corpus.words())
    assert again.words() == corpus.words()
    for tags in ("bies", "bie"):
        corpus.labels(tags)


def read_spans(name, data):
    tokenizer = list(TOKENIZERS)[len(data) % len(TOKENIZERS)]
    records = list(read_records(io.BytesIO(data), name))
    build(span_corpus(records, "fuzz", tokenizer))


def read_brat(data):
    text, _, annotations = data.decode(errors="replace").partition("\0")
    build(span_corpus([checked_brat(text, annotations, "fuzz")], "fuzz"))


def read_documents(data):
    flags = data[0] if data else 0
    name = ["auto", "svmlight", "counts", "text"][flags & 3]
    form = DocumentFormat(format=name, binary=bool(flags & 4), bigrams=bool(flags & 8))
    build(Documents.read(io.BytesIO(data[1:]), form).corpus)


def parse_template(data):
    template = Template(data.decode(errors="surrogateescape"))
    for form in (template, template.rich(), template.plain()):
        form.program()
        assert form.skeletons
    if template.n_columns <= 3 and len(template.lines) <= 50:
        sentences = [[("a", "b", "c")] * 3, [("é", "1", "_B-1")]]
        labels = [["X", "Y", "X"], ["Y"]]
        trained = adaptag.train(sentences, labels, template=template.text, passes=1, threads=1)
        trained.tag(sentences[0])
        [trained.index.name(p) for p in range(trained.index.n_predicates)]


@functools.cache
def segmenter():
    words = [["天天", "中国", "人"], ["中国", "人民"], ["天", "abc", "民"]]
    return adaptag.Segmenter.train(words, passes=1, threads=1)


def read_dictionary(data):
    found = UserDictionary("types")
    with stored(data) as path:
        found.load(path)
    words = UserDictionary("types")
    words.add_arrays(found.to_arrays())
    assert words.to_dict() == found.to_dict()
    cutter = segmenter()
    cutter.dictionary.remove(list(cutter.dictionary))
    cutter.dictionary.add(found.to_dict())
    text = "天天中国人民abc 天" + "".join(list(found)[:5])
    assert "".join(cutter.cut(text)) == text
    cutter.words(text)


def convert_labels(data):
    text = data.decode(errors="surrogateescape")
    labels = [line.split() for line in text.split("\n")]
    adaptag.evaluate(labels, [line[::-1] for line in labels])
    for scheme in ("iob1", "iob2", "ioe2", "bioes"):
        try:
            again = adaptag.convert_labels(labels, scheme)
        except AdaptagError:
            continue
        assert adaptag.convert_labels(again, scheme, source=scheme) == again


def cut_into_tokens(data):
    text = data.decode(errors="surrogateescape" if len(data) % 2 else "replace")
    for tokenizer in TOKENIZERS.values():
        end = 0
        for line in tokenizer(text):
            for start, stop in line:
                assert end <= start < stop <= len(text)
                end = stop


def json_lines():
    return [
        "\n".join(map(json.dumps, RECORDS)).encode(),
        *(json.dumps(record).encode() for record in RECORDS),
        json.dumps(RECORDS).encode(),
        json.dumps(TASKS).encode(),
    ]


TARGETS = {
    "columns": Target(read_columns, lambda: [b"\0" + COLUMNS, b"\x0c" + COLUMNS, b"\2a b\n\nc d"]),
    "attributes": Target(
        read_attributes,
        lambda: [b"X\ta\tb:2\tc\\:d:-1e3\nY\ta\n\nX\t\\\\\n", "größe\tü:+.5\r\nO\n".encode()],
    ),
    "segmented": Target(
        read_segmented, lambda: ["天天 中国　人\n\nab c\n".encode(), b"a  b\r\n\tc\n"]
    ),
    "json-lines": Target(functools.partial(read_spans, "jsonl"), json_lines, mutate_json),
    "json": Target(functools.partial(read_spans, "json"), json_lines, mutate_json),
    "label-studio": Target(functools.partial(read_spans, "label-studio"), json_lines, mutate_json),
    "brat": Target(
        read_brat, lambda: [b"Ada wrote.\0T1\tPER 0 3\tAda\nT2\tV 4 6;7 9\twr te\nR1\tx", b"\0"]
    ),
    "documents": Target(
        read_documents,
        lambda: [
            b"\0+1 1:0.5 7:2 # c\n-1 qid:3 2:1\n",
            b"\0good:1 film:2 #label#:pos\n",
            "\3pos\tGood film, 天天!\nneg\tbad\n".encode(),
        ],
    ),
    "template": Target(
        parse_template,
        lambda: [
            b"# c\nU0:%x[0,0]\nU1:%x[-1,0]/%lower[0,1]\nB\n*s:%shape[1,2]\n",
            b"U%prefix3[0,0]\nU%suffix2[-2,0]\nB%x[0,0]",
        ],
    ),
    "dictionary": Target(
        read_dictionary,
        lambda: [
            "人民 2.5\n天中 force\n# c\ncafé -1\n中国\n".encode(),
            "人民 25 n\n天中 3\ncafé eng\n中国\n".encode(),
        ],
    ),
    "labels": Target(
        convert_labels, lambda: [b"B-NP I-NP O B-VP\nO\n", b"S-X B-Y E-Y\nI-X I-X B-X", b"NN VB"]
    ),
    "tokenizers": Target(
        cut_into_tokens,
        lambda: ["Don't go to 天天, 3.14%\r\né🇩🇪👩‍👩‍👧 क्षि".encode(), b"a\tb\x85c"],
    ),
}
