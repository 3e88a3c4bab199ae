"""Seed lists that ship with the crawler, read by name: `seeds=edu.txt`."""
