"""Pictures that code makes say what the code says now."""

from __future__ import annotations

from handbook.noise_picture import PICTURE, picture, table


def test_the_picture_of_noise_is_that_of_the_gateway() -> None:
    """After a change of the noise: python -m handbook.noise_picture, and look at it."""
    assert PICTURE.read_text(encoding="utf-8") == picture()


def test_it_shows_what_its_title_says() -> None:
    rows = table()
    hidden = [size for size, _, mean, _, _ in rows if mean is None]
    errors = [abs(mean / exact - 1) for _, exact, mean, _, _ in rows if mean is not None]
    assert 5 in hidden
    assert max(hidden) < 13, "smallest and two margins: always shown"
    assert max(errors[:3]) > 0.1
    assert max(errors[-3:]) < 0.02
