"""Why a label was chosen: what favours it, and what favours the next best one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from adaptag.decoding.options import DecodingOptions
from adaptag.rendering.tables import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from rich.table import Table

    from adaptag.decoding.model import Model
    from adaptag.features.index import Encoded

__all__ = ["Argument", "Explanation", "TokenExplanation", "explain"]

SHOWN = 60  # characters of the labelled sentence that a repr shows


@dataclass(frozen=True)
class Argument:
    """A feature or transition at a token, and how much it favours the chosen label.

    Attributes:
        name: The feature, or the transition: ``B-NP → I-NP`` from the previous label, or to the
            next.
        weight: What it adds to the score of the chosen label minus what it would add to that of the
            rival, all other labels being the same. It is negative where it favours the rival.
    """

    name: str
    weight: float


@dataclass(frozen=True, repr=False)
class TokenExplanation(Shown):
    """The choice at one token.

    Attributes:
        token: The columns of the token.
        label: The chosen label.
        probability: The probability of the label.
        rival: The most probable of the other labels; empty if there is only one label.
        rival_probability: The probability of the rival.
        arguments: The features and transitions, the strongest first, whether for or against the
            label.
    """

    token: tuple[str, ...]
    label: str
    probability: float
    rival: str
    rival_probability: float
    arguments: tuple[Argument, ...]

    def __repr__(self) -> str:
        rival = f" against {self.rival} {self.rival_probability:.1%}" if self.rival else ""
        label = f"{self.label} {self.probability:.1%}{rival}"
        strongest = "".join(f"; {a.name} {a.weight:+.2f}" for a in self.arguments[:1])
        return f"<{' '.join(self.token)}: {label}{strongest}>"

    def _shown(self) -> list[Any]:
        return [Explanation((self,)).table()]

    @property
    def margin(self) -> float:
        """The sum of all arguments: the score of the best labels minus that with the rival."""
        return sum(argument.weight for argument in self.arguments)


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """The choices of a sentence, token by token; printed, and in a notebook, it is a table."""

    tokens: tuple[TokenExplanation, ...]

    def __repr__(self) -> str:
        labels = " ".join(f"{' '.join(choice.token)}/{choice.label}" for choice in self.tokens)
        shown = labels if len(labels) <= SHOWN else f"{labels[:SHOWN]}…"
        return f"<Explanation of {len(self.tokens)} tokens: {shown}>"

    def _shown(self) -> list[Any]:
        return [self.table()]

    def __iter__(self) -> Iterator[TokenExplanation]:
        return iter(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, position: int) -> TokenExplanation:
        return self.tokens[position]

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return asdict(self)

    def table(self, top: int = 5) -> Table:
        """A table for the terminal, with the ``top`` strongest arguments on either side."""
        from rich.table import Table
        from rich.text import Text

        table = Table(show_lines=True)
        for heading in ("token", "label", "rival", "for", "against"):
            table.add_column(heading, overflow="fold")
        for choice in self.tokens:
            supporting = [a for a in choice.arguments if a.weight > 0][:top]
            opposing = [a for a in choice.arguments if a.weight < 0][:top]
            table.add_row(
                Text(" ".join(choice.token), style="bold"),
                Text(f"{choice.label}\n{choice.probability:.1%}"),
                Text(f"{choice.rival}\n{choice.rival_probability:.1%}" if choice.rival else ""),
                *(
                    Text("\n".join(f"{a.weight:+6.2f} {a.name}" for a in side))
                    for side in (supporting, opposing)
                ),
            )
        return table


def explain(
    model: Model, tokens: Sequence[tuple[str, ...]], encoded: Encoded, legal: str | None
) -> Explanation:
    """Explain the best labels of one encoded sentence."""
    options = DecodingOptions(legal)
    ids = model.tag_encoded(encoded, options).tolist()
    states, likeliest = model.best_states(encoded, legal)
    table = model.marginals_encoded(encoded, options)
    explanations = []
    for t, token in enumerate(tokens):
        label, others = ids[t], table[t].copy()
        others[label] = -1
        rival = int(others.argmax()) if len(others) > 1 else label
        explanations.append(
            TokenExplanation(
                token,
                model.labels[label],
                float(table[t, label]),
                model.labels[rival] if rival != label else "",
                float(table[t, rival]) if rival != label else 0.0,
                tuple(
                    _arguments(model, encoded, states.tolist(), t, int(likeliest[t, rival]), ids)
                ),
            )
        )
    return Explanation(tuple(explanations))


def _arguments(
    model: Model, encoded: Encoded, states: list[int], t: int, rival: int, ids: list[int]
) -> list[Argument]:
    """What changes in the score of the best states where the one at ``t`` becomes the rival."""
    state, last = states[t], len(states) - 1
    arguments = []
    arriving = leaving = 0.0
    for predicate, value in _fired(encoded, t):
        node, edge = model.weights_of(predicate)
        weight = 0.0 if node is None else value * float(node[state] - node[rival])
        if edge is not None and t > 0:
            step = value * float(edge[states[t - 1], state] - edge[states[t - 1], rival])
            if node is None:
                arriving += step
            else:
                weight += step  # a rich edge is one feature with its node weights
        if node is not None:
            arguments.append(Argument(model.index.name(predicate), weight))
    if t < last:
        for predicate, value in _fired(encoded, t + 1):
            _, edge = model.weights_of(predicate)
            if edge is not None:
                leaving += value * float(edge[state, states[t + 1]] - edge[rival, states[t + 1]])
    names = model.labels
    if t > 0:
        arguments.append(Argument(f"{names[ids[t - 1]]} → {names[ids[t]]}", arriving))
    if t < last:
        arguments.append(Argument(f"{names[ids[t]]} → {names[ids[t + 1]]}", leaving))
    return sorted((a for a in arguments if a.weight), key=lambda a: -abs(a.weight))


def _fired(encoded: Encoded, t: int) -> Iterator[tuple[int, float]]:
    begin, end = encoded.positions[t : t + 2]
    predicates: NDArray[np.uint32] = encoded.predicates[begin:end]
    values = np.ones(end - begin) if encoded.values is None else encoded.values[begin:end]
    return zip(predicates.tolist(), values.tolist(), strict=True)
