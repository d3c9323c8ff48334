"""What was computed last is kept within bytes, and of a run only for its newest state."""

from __future__ import annotations

from rollscope.views.charts.recent import Recent


def recent(most: int = 100) -> Recent[str | None]:
    return Recent(lambda text: len(text or ""), most)


def test_a_value_is_made_once() -> None:
    kept, made = recent(), list[str]()
    for _ in range(3):
        assert kept.get("run", 1, "key", lambda: made.append("") or "value") == "value"
    assert len(made) == 1 and kept.bytes == 5


def test_a_new_state_of_a_run_forgets_the_values_of_the_one_before() -> None:
    kept = recent()
    kept.get("other", 1, "key", lambda: "other")
    for state in range(50):
        for key in ("a", "b"):
            assert kept.get("run", state, (key, state), lambda: f"{state:02}") == f"{state:02}"  # noqa: B023
    assert kept.bytes == len("other") + 2 * 2
    assert kept.get("other", 1, "key", lambda: "made again") == "other"


def test_an_answer_about_an_older_state_is_never_given_for_a_newer_one() -> None:
    kept = recent()

    def slow() -> str:
        kept.get("run", 2, "key", lambda: "new")  # the run grew meanwhile
        return "old"

    assert kept.get("run", 1, "key", slow) == "old"
    assert kept.get("run", 2, "key", lambda: "new") == "new"


def test_the_least_recently_used_goes_first_and_the_bytes_stay_within_the_bound() -> None:
    kept = recent(10)
    for i in range(5):
        kept.get(f"run {i}", 0, "key", lambda: "1234")
        kept.get("run 0", 0, "key", lambda: "1234")
        assert kept.bytes <= 10
    assert kept.get("run 0", 0, "key", lambda: "made again") == "1234"
    assert kept.get("run 1", 0, "key", lambda: "4321") == "4321"
    assert kept.get("large", 0, "key", lambda: "x" * 11) == "x" * 11 and kept.bytes <= 10


def test_nothing_is_not_kept() -> None:
    kept = recent()
    assert kept.get("run", 0, "key", lambda: None) is None
    assert kept.get("run", 0, "key", lambda: "value") == "value"
