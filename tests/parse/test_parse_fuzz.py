import os
import subprocess
import sys
from pathlib import Path

import pytest

# The long proof is 10,000 documents: PROOF=1.
COUNT = 10_000 if os.environ.get("PROOF") else 300


@pytest.mark.timeout(3_600)
def test_mutated_documents_neither_crash_nor_hang():
    script = Path(__file__).with_name("fuzz_documents.py")
    process = subprocess.run(
        [sys.executable, str(script), "1", str(COUNT)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-3_000:]
    assert process.stdout.split() == [str(COUNT)]
