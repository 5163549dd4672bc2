"""English stop words: they carry no information about what a query is about."""

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don down during each either else
    etc ever every few for from further get gets got had hadn has hasn have haven having he her here hers
    herself him himself his how however i if in into is isn it its itself just let like ll m many may maybe me
    might more most much must my myself need needs no nor not now of off on once one only or other our ours
    ourselves out over own please re s same shall she should shouldn so some such t than that the their theirs
    them themselves then there these they this those through to too under until up upon us use used user users
    using ve very via want wants was wasn we were weren what when where which while who whom whose why will with
    within without won would wouldn yes yet you your yours yourself
    """.split()  # noqa: SIM905 - one word per line would take three pages
)
