"""--invert: full scale minus colour; alpha stays."""
import pytest

import reference
from harness import check_stage, draw_shapes


def inverted(planes):
    colours = planes.shape[2] - reference.has_alpha(planes)
    result = planes.copy()
    result[..., :colours] = (planes[..., -1:] if reference.has_alpha(planes) else 1) - planes[..., :colours]
    return result


@pytest.mark.parametrize("shape", draw_shapes("invert", 8), ids=str)
def test_invert(tmp_path, rng, shape):
    check_stage(tmp_path, rng, shape, ["--invert"], [inverted])
