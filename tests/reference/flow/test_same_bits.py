"""Invariance: climg gives the same bits in every kernel variant, memory and slice, and the bits of other machines (sums.txt)."""

import os
import random

import pytest

import harness
import sums


@pytest.mark.long
def test_all_commands_give_the_sums_of_the_list():
    """With both kernel variants; each run of the tests chooses in which memory and slices."""
    chance = None if os.environ.get("CLIMG_TEST_ALL") else random.Random(harness.seed_text())
    results = sums.compare(harness.climg_with(), sums.USUAL, jobs=2, chance=chance)
    assert len(results) >= 60 * 2
    wrong = [f"{way}: {recipe}: {got}, not {expected}" for way, recipe, expected, got in results if got != expected]
    assert not wrong, "\n".join(["if that was meant: make sums", *wrong])


def test_all_stages_are_in_the_list():
    recipes = " ".join(recipe for _, recipe in sums.read_table())
    missing = [stage for stage in harness.stages() if f"--{stage}" not in recipes]
    assert not missing, "give each a line in tests/reference/sums.txt, as 00000000 {rgb} --STAGE, then make sums"
