"""The long proofs: each run is made from a seed, judged, and written into docs/proof.md.

    make proof                       all of them
    make proof ONLY=kills            one (or several, with commas)
    python benchmarks/proof --only traps --seed 7

A run that fails says why and with which seed, keeps its directory, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # for the processes started here: this tree, not an installed one

import runs  # noqa: E402
from fleet_trouble import fleet  # noqa: E402
from report import write_section  # noqa: E402
from runs import Result  # noqa: E402
from trouble import trouble  # noqa: E402


def laws(directory: Path, seed: int) -> Result:
    """The state machines of frontier, storage and parser with thousands of stories instead of dozens."""
    return tests(f"--hypothesis-seed={seed}", "tests/frontier", "tests/storage", "tests/parse")


def spine(directory: Path, seed: int) -> Result:
    """Five webs of 300 hosts and 10,000 pages; a sixth with 20 kills, the frontier checked after each."""
    return tests("-s", "tests/crawls/test_coverage.py", "tests/crawls/test_kills.py")


def tests(*arguments: str) -> Result:
    """Tests of the suite, at full size."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "--timeout", "7200", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PROOF": "1"}, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines() or ["nothing"]
    result = Result({"tests": lines[-1].partition(" in ")[0]})
    for line in lines:
        if found := re.search(r"\d+ kills, .*", line):  # what the kill test prints
            result.figures["kills"] = found[0]
    result.figures["duration"] = f"{time.monotonic() - began:.0f} s"
    result.expect(done.returncode == 0, done.stdout[-3000:])
    return result


RUNS: dict[str, tuple[Callable[[Path, int], Result], int]] = {
    "hostile": (runs.hostile, 61),
    "hostile_kills": (runs.hostile_kills, 61),
    "kills": (runs.kills, 31),
    "trouble": (trouble, 1),
    "fleet": (fleet, 74),
    "traps": (runs.traps, 62),
    "texts": (runs.texts, 1),
    "budget": (runs.budget, 65),
    "spine": (spine, 31),
    "laws": (laws, 1),
}


def prove(name: str, seed: int | None) -> bool:
    run, usual = RUNS[name]
    seed = usual if seed is None else seed
    directory = Path(tempfile.mkdtemp(prefix=f"proof-{name}-"))
    print(f"{name}, seed {seed}: {run.__doc__}", flush=True)
    try:
        result = run(directory, seed)
    except Exception as error:
        traceback.print_exc()
        result = Result({}, [f"{type(error).__name__}: {error}"])
    for figure, value in result.figures.items():
        print(f"  {figure}: {value}")
    write_section(name, (run.__doc__ or "").strip(), seed, result.figures, result.failures)
    if result.failures:
        print(f"FAILED: {name} with seed {seed}; its files are in {directory}")
        print("\n".join(result.failures), flush=True)
        return False
    shutil.rmtree(directory)
    print(f"{name} holds", flush=True)
    return True


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    options = argparse.ArgumentParser("proof", description=__doc__, formatter_class=raw)
    options.add_argument("--only", default="", metavar="NAMES", help=f"of {', '.join(RUNS)}")
    options.add_argument("--seed", type=int, help="another seed than the run's own")
    chosen = options.parse_args()
    names = chosen.only.split(",") if chosen.only else list(RUNS)
    if unknown := set(names) - set(RUNS):
        options.error(f"no run is called {', '.join(sorted(unknown))}: give some of {', '.join(RUNS)}")
    failed = [name for name in names if not prove(name, chosen.seed)]
    print(f"failed: {', '.join(failed)}" if failed else "all hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
