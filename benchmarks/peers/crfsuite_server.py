"""python-crfsuite behind FastAPI, as tutorials write it: a plain function, one worker.

usage: python crfsuite_server.py MODEL PORT

Tokens are a word and its part of speech; the features are those of ``chunking.attributes``.
"""

from __future__ import annotations

import sys

import pycrfsuite
import uvicorn
from chunking import attributes
from fastapi import FastAPI
from pydantic import BaseModel


class Sentence(BaseModel):
    """The body of a request."""

    tokens: list[tuple[str, str]]


app = FastAPI()
tagger = pycrfsuite.Tagger()


@app.post("/tag")
def tag(sentence: Sentence) -> dict[str, list[str]]:
    """Tag a sentence."""
    return {"labels": tagger.tag(attributes(list(sentence.tokens)))}


if __name__ == "__main__":
    tagger.open(sys.argv[1])
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
