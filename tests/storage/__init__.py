"""Tests of the storage room: one contract, and every engine that must keep it."""

import pytest

pytest.register_assert_rewrite("storage.contract")
