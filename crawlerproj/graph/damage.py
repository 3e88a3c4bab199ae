"""The error of a file that is not what it says it is."""


class DamagedGraph(Exception):
    """A file of the graph is damaged. The text says which, and what to do."""
