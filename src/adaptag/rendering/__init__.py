"""Pictures of results: texts with coloured spans, tables in a terminal and in HTML."""

THRESHOLD = 0.5  # the probability below which a span is shown as uncertain
