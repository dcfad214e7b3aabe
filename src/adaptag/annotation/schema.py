"""The tables of a labelling project."""

from __future__ import annotations

__all__ = ["SCHEMA", "VERSION"]

VERSION = 1  # of the tables, kept in the file as user_version

SCHEMA = """
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,                   -- the file that it came from
    text TEXT NOT NULL,
    time REAL NOT NULL
);
CREATE TABLE sentences (
    id INTEGER PRIMARY KEY,                 -- from 0 on: its number in the pool
    text INTEGER NOT NULL REFERENCES texts,
    tokens TEXT NOT NULL                    -- JSON: start and end of each token in the text
);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    colour INTEGER NOT NULL,                -- its number in the palette of the page
    key TEXT NOT NULL                       -- of the keyboard; empty where none is left
);
CREATE TABLE annotators (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE answers (                      -- rows are only added: the history is complete
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sentence INTEGER NOT NULL REFERENCES sentences,
    annotator INTEGER NOT NULL REFERENCES annotators,
    kind TEXT NOT NULL CHECK (kind IN ('accepted', 'corrected', 'skipped', 'imported', 'undo')),
    labels TEXT,                            -- JSON: a label or null for each token
    suggested TEXT,                         -- JSON: what the model had suggested
    confidence REAL,                        -- of the suggestion
    seconds REAL,                           -- that the annotator took
    time REAL NOT NULL,
    undoes INTEGER UNIQUE REFERENCES answers
);
CREATE INDEX answers_by_sentence ON answers (sentence);
CREATE TABLE curve (
    id INTEGER PRIMARY KEY,
    answers INTEGER NOT NULL,               -- that the model was trained on
    metric TEXT NOT NULL,
    score REAL NOT NULL,                    -- on held-out answers, in percent
    seconds REAL NOT NULL,                  -- that training took
    time REAL NOT NULL
);
CREATE VIEW standing AS                     -- the answers that were not undone
    SELECT * FROM answers
    WHERE kind <> 'undo'
      AND id NOT IN (SELECT undoes FROM answers WHERE undoes IS NOT NULL);
"""
