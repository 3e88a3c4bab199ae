"""The error of a file that is not what it says it is."""

REMEDY = "build the graph anew with `scrapy graph build`"


class DamagedGraph(Exception):
    """A file of the graph is damaged. The text says which, and what to do."""
