"""When a dead qcluster starts again (spec deploy 5.6 and 11.5)."""

import pytest

from halo_site.serve.respawn import Respawn, respawn


@pytest.mark.parametrize(
    ("restarts", "now", "expected"),
    [
        ([], 0.0, Respawn(2.0, slow=False)),
        ([0.0], 1.0, Respawn(2.0, slow=False)),
        ([0.0, 2.0, 4.0, 6.0], 7.0, Respawn(2.0, slow=False)),
        ([0.0, 2.0, 4.0, 6.0, 8.0], 9.0, Respawn(299.0, slow=True)),
        ([0.0, 2.0, 4.0, 6.0, 8.0], 299.0, Respawn(9.0, slow=True)),
        ([0.0, 2.0, 4.0, 6.0, 8.0], 300.0, Respawn(2.0, slow=False)),  # the window slides: the first one fell out
        ([0.0, 2.0, 4.0, 6.0, 8.0, 308.0], 309.0, Respawn(2.0, slow=False)),
        ([8.0, 100.0, 200.0, 250.0, 299.9], 307.9, Respawn(292.0, slow=True)),
    ],
)
def test_a_dead_child_starts_again_soon_but_at_most_five_times_in_five_minutes(restarts, now, expected):
    verdict = respawn(restarts, now)
    assert verdict.slow is expected.slow
    assert verdict.delay == pytest.approx(expected.delay)


def test_a_slow_restart_never_comes_sooner_than_the_pause():
    assert respawn([0.0, 1.0, 2.0, 3.0, 4.0], 299.99).delay >= 2.0
