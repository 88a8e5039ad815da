"""Invariance: climg gives the same bits in every kernel variant, memory and slice, and those that it gave elsewhere (sums.txt)."""

import pytest

import harness
import sums


@pytest.mark.long
def test_all_commands_give_the_sums_of_the_list():
    results = sums.compare(harness.CLIMG, sums.USUAL, jobs=2)
    assert len(results) >= 60 * len(sums.USUAL)
    wrong = [f"{way}: {recipe}: {got}, not {expected}" for way, recipe, expected, got in results if got != expected]
    assert not wrong, "\n".join(["if that was meant: make sums", *wrong])


def test_all_stages_are_in_the_list():
    recipes = " ".join(recipe for _, recipe in sums.read_table())
    missing = [stage for stage in harness.stages() if f"--{stage}" not in recipes]
    assert not missing, "give each a line in tests/reference/sums.txt, as 00000000 {rgb} --STAGE, then make sums"
