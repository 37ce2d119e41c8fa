"""Results of the bench in, documents out: a page, Markdown, a terminal's text."""
