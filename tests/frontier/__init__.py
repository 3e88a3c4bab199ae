"""Tests of the frontier room."""
