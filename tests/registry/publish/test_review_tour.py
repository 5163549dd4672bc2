"""The tour of reviews and of the policy of installations: what its script prints."""

from support.tour import review_tour


def test_the_tour_holds_reviews_and_installs_by_a_policy() -> None:
    output = review_tour()
    steps = [
        "acme/tea 1.0.0: held",
        "exit code 3",  # of the search
        "medium download-and-run SKILL.md:6",
        "another manager of the scope 'acme' or an administrator reviews it",
        "is approved: it is being published",
        "install.max_risk is low, and acme/tea 1.0.0 has medium risk: SKILL.md:6 download-and-run",
        "tea    installed  1.0.0",
        "allowed by an exception of the manifest: install.max_risk is low",
    ]
    places = [output.find(step) for step in steps]
    assert -1 not in places, steps[places.index(-1)]
    assert places == sorted(places)
