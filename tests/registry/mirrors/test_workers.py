"""Several workers of a mirroring service share what any of them has fetched, and follow one log."""

from pathlib import Path

from support.mirrors import MirrorService, Upstream
from support.parties import Developer


def test_workers_share_what_one_has_fetched(tmp_path: Path) -> None:
    with Upstream(tmp_path / "upstream") as upstream:
        upstream.release("tea")
        with MirrorService(tmp_path / "mirror", upstream, "--workers", "3") as mirror:
            mirror.follow(upstream)
            reader = mirror.caller("reader", "user")
            for version in ("1.1.0", "1.2.0", "1.3.0"):
                upstream.release("tea", version)
                answers = [mirror.get(f"/mirrors/corp/packages/acme/tea/{version}.zip", reader) for _ in range(12)]
                assert {answer.status_code for answer in answers} == {200}
                developer = Developer(tmp_path / version, mirror, mirror.new_key())
                assert developer.run("install", f"acme/tea@{version}").code == 0
            upstream.stop()
            try:
                mirror.stop()
                mirror.start()
                statuses = {
                    mirror.get(f"/mirrors/corp/packages/acme/tea/{version}.zip", reader).status_code
                    for version in ("1.1.0", "1.2.0")
                    for _ in range(6)
                }
                assert statuses == {200}
            finally:
                upstream.start()
