"""Metrics for Prometheus."""

from litestar import Response, get

from registry.http.routes.parameters import ERRORS, RunningServices
from registry.http.thread_pools import ADMINISTRATION_POOL


@get("/metrics", tags=["service"], responses=ERRORS, role="manager", media_type="text/plain")
@ADMINISTRATION_POOL.handler
def metrics(running: RunningServices) -> Response[bytes]:
    """Return the metrics of the answering process, in Prometheus text format."""
    return Response(running.registry.metrics.exposition(), media_type="text/plain; version=0.0.4")


METRICS = [metrics]
