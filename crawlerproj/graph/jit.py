"""Compiled kernels: plain functions over numpy arrays, compiled once and kept in numba's disk cache.

A kernel checks its own bounds and answers damage with a negative number: compiled code that trusts a
damaged file would end the process. One call from Python costs about 1.6 us, so kernels take batches.
`python -m crawlerproj.graph.warm` fills the cache, which takes the first query from seconds to
fractions of one.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

DAMAGED = -1  # the stream says something that no encoder writes
NO_ROOM = -2  # the answer does not fit into the array given for it

FOLDER = Path(__file__).parent


def cache_name() -> str:
    """The name of the folder for compiled kernels: by the text of all files with kernels.

    Numba looks only at the file of the kernel itself, and would go on using it after another file,
    which it calls or takes a constant from, has changed.
    """
    text = sha256(Path(__file__).read_bytes())
    for path in sorted(FOLDER.glob("*.py")):
        data = path.read_bytes()
        if b"@kernel" in data:
            text.update(data)
    return f"kernels-{text.hexdigest()[:16]}"


def _own_folder() -> Path:
    """Where a user keeps what can be made again."""
    named = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(named or Path.home() / ".cache") / "crawlerproj"


def _writable(folder: Path) -> bool:
    """Also the folders that numba made in it: another user may own them."""
    return all(os.access(path, os.W_OK) for path in (folder, *folder.iterdir()))


def place_of_cache(
    package: Path, others: Iterable[Path], name: str, writable: Callable[[Path], bool] = _writable
) -> Path | None:
    """The package's folder if it can be written, else the first of the others that can; None: no folder can.

    What was compiled into a package that is now read-only (installed by another user) is copied: numba
    reads only where it may write.
    """
    for parent in chain([package], others):
        folder = parent / name
        try:
            if parent != package and not folder.exists() and (package / name).is_dir():
                copy = parent / f"{name}.{os.getpid()}"
                shutil.copytree(package / name, copy)
                with suppress(OSError):  # another process was faster
                    copy.rename(folder)
                shutil.rmtree(copy, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            if writable(folder):
                return folder
        except OSError:
            continue
    return None


def _other_folders() -> Iterator[Path]:
    own = _own_folder()
    yield own
    logging.getLogger(__name__).warning(
        "neither %s nor %s can be written: what this process compiles (up to half a minute) is not kept; "
        "name a folder in XDG_CACHE_HOME", FOLDER, own,
    )  # fmt: skip
    with suppress(OSError):
        passing = Path(mkdtemp(prefix="crawlerproj-"))
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
        yield passing


CACHE = place_of_cache(FOLDER / "__pycache__", _other_folders(), cache_name())
config.CACHE_DIR = str(CACHE or "")  # type: ignore[attr-defined]


def kernel(function: Kernel) -> Kernel:
    """Compiles a function at its first call, or loads it from the cache. The GIL is released."""
    return cast(Kernel, njit(cache=CACHE is not None, nogil=True)(function))


def _leading_zeros(_context: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.int64), generate


def _load_word(_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.gep(data, [arguments[1]])
        word = builder.bitcast(place, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(array, types.int64), generate


def _turned(_context: Any, value: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def _multiply_fold(_context: Any, one: Any, other: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide, word = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.lshr(product, ir.Constant(wide, 64))
        return builder.xor(builder.trunc(product, word), builder.trunc(high, word))

    return types.uint64(types.uint64, types.uint64), generate


leading_zeros = cast(Callable[[int], int], intrinsic(_leading_zeros))
"""The zero bits before the highest one of a 64-bit number, by the processor's own instruction."""

load_word = cast(Callable[[Any, int], Any], intrinsic(_load_word))
"""The eight bytes of a byte array from an index on, as a little-endian word. The index is NOT checked."""

turned = cast(Callable[[Any], Any], intrinsic(_turned))
"""A word with its bytes in the opposite order."""

multiply_fold = cast(Callable[[Any, Any], Any], intrinsic(_multiply_fold))
"""The product of two words in 128 bits, its halves combined by exclusive or."""

int64 = cast(Callable[[Any], int], np.int64)
"""A signed number in a kernel, where bytes and words would stay unsigned; for the type checker an int."""

uint64 = cast(Callable[[Any], Any], np.uint64)
"""An unsigned word in a kernel."""
