"""Pictures of results: texts with coloured spans, tables in a terminal and in HTML."""
