import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def cnr():
    """The folder with the official files of cnr-2000 and its transpose."""
    data = Path(os.environ.get("CONFORMANCE_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "graph" / "cnr-2000"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing: set CONFORMANCE_DATA to the folder of the conformance data")
    return folder
