"""A run in one file to hand on: as HTML that needs nothing else, or as Markdown for a pull request.

Promises: the HTML has no script and loads nothing; every text of the run is text, whatever it
holds; secrets are hidden. Door: `content` (gather), then `page` or `markdown` (write).
"""
