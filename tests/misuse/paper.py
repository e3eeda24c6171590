"""The table printed in the paper that introduced the measure, and its sensitivity function."""

from __future__ import annotations

from typing import Any

from discreet.misuse import Sensitivity

QUASI = ["job", "city", "sex"]
COLUMNS = (*QUASI, "account", "bill")
SOURCE: list[dict[str, Any]] = [
    dict(zip(COLUMNS, row, strict=True))
    for row in (
        ("Lawyer", "NY", "Female", "Gold", 350),
        ("Gardener", "LA", "Male", "White", 160),
        ("Gardener", "LA", "Female", "Silver", 200),
        ("Lawyer", "NY", "Female", "Bronze", 600),
        ("Teacher", "DC", "Female", "Silver", 300),
        ("Gardener", "LA", "Male", "Bronze", 200),
        ("Teacher", "DC", "Female", "Gold", 875),
        ("Programmer", "DC", "Male", "White", 20),
        ("Teacher", "DC", "Female", "White", 160),
    )
]
PUBLISHED = [SOURCE[place] for place in (0, 3, 4, 5, 7, 8)]
TABLES = {
    "account": {"values": {"Gold": 1.0, "Silver": 0.7, "Bronze": 0.3, "White": 0.1}, "otherwise": 0.0},
    "bill": {"bins": [[100, 0.1], [250, 0.2], [400, 0.3], [700, 0.5]], "otherwise": 1.0},
}
F = Sensitivity.from_dict(TABLES)
