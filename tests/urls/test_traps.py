import pytest

from crawlerproj.urls.traps import trap_reason


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", None),
        ("2011/11/11/11", None),
        ("a/b/a/b", None),
        ("a/b/c/d/e/f/g?u=/x/x/x/x/x", None),
        ("a/b/a/b/a/b", "trap_repeated_segments"),
        ("x/a/b/c/a/b/c/a/b/c/y.html", "trap_repeated_segments"),
        ("a/x/a/y/a/z/a/", "trap_repeated_segments"),
        ("/".join(map(str, range(30))), None),
        ("/".join(map(str, range(31))), "trap_deep_path"),
    ],
)
def test_paths_that_repeat_themselves_are_traps(path: str, reason: str | None) -> None:
    assert trap_reason(f"https://example.com/{path}") == reason
