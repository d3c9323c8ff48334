"""Readings of the machine and of engines: rates and percentiles of a window, over all labels."""

import contextlib
import http.server
import math
import threading
import time

import pytest

from rollscope.record.watch.host import _proc, _psutil, probe
from rollscope.record.watch.scrape import Scraper, parse, percentile

PAGE = """# HELP vllm:num_requests_running Number of requests
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="a,b}}\\"c"}} {running}
vllm:num_requests_running{{engine="1",model_name="a,b}}\\"c"}} 2
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{{engine="0"}} 0.2
vllm:kv_cache_usage_perc{{engine="1"}} 0.4
# TYPE vllm:generation_tokens counter
vllm:generation_tokens_total{{engine="0"}} {tokens}
vllm:generation_tokens_created{{engine="0"}} 1.7e9
vllm:generation_tokens_total{{engine="1"}} 50
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{{engine="0",le="0.1"}} {b1}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="0.5"}} {b2}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="+Inf"}} {b3}
vllm:time_to_first_token_seconds_sum{{engine="0"}} {sum}
vllm:time_to_first_token_seconds_count{{engine="0"}} {b3}
# TYPE vllm:prefix_cache_hits counter
vllm:prefix_cache_hits_total {hits}
# TYPE vllm:prefix_cache_queries counter
vllm:prefix_cache_queries_total {queries}
# TYPE acme:temperature gauge
acme:temperature 7
# TYPE acme:calls_total counter
acme:calls_total 4
broken line without a number
"""


def page(running=3, tokens=100, b1=10, b2=20, b3=20, sum=4.0, hits=0, queries=0):
    return PAGE.format(running=running, tokens=tokens, b1=b1, b2=b2, b3=b3, sum=sum, hits=hits, queries=queries)


def readings(scraper, text, now):
    return {name: value for _, name, value in scraper.take(text, now)}


def test_an_engine_is_read_in_windows():
    scraper = Scraper("localhost:8000")
    assert scraper.url == "http://localhost:8000/metrics" and scraper.device == "engine/localhost:8000"
    first = readings(scraper, page(), 10.0)
    gauges = {"engine/requests_running": 5.0, "engine/kv_cache_used": pytest.approx(0.3), "acme:temperature": 7.0}
    assert first == gauges
    got = readings(scraper, page(running=0, tokens=400, b1=10, b2=30, b3=30, sum=7.0, hits=30, queries=40), 12.0)
    assert got["engine/cache_hit_share"] == 0.75
    assert got["engine/requests_running"] == 2.0 and got["engine/generated_tokens"] == 150.0
    assert got["acme:calls_total/rate"] == 0.0 and got["vllm:time_to_first_token_seconds/rate"] == 5.0
    seconds = [got[f"engine/ttft_seconds/{statistic}"] for statistic in ("mean", "p50", "p95")]
    assert seconds == pytest.approx([0.3, 0.3, 0.48])


def test_a_restarted_engine_counts_from_zero():
    scraper = Scraper("localhost:1")
    readings(scraper, page(tokens=1000), 1.0)
    assert readings(scraper, page(tokens=30), 2.0)["engine/generated_tokens"] == 30.0


def test_a_window_in_which_nothing_happened_has_no_percentiles():
    scraper = Scraper("localhost:1")
    readings(scraper, page(), 1.0)
    assert not any(name.startswith("engine/ttft_seconds/p") for name in readings(scraper, page(), 2.0))


def test_labels_may_hold_any_text():
    families = parse('a{x="1,2",y="q\\"}{"} 5\nb 1e3 1700000000\nc NaN\n')
    assert families["a"].samples == {("a", 'x="1,2",y="q\\"}{"'): 5.0}
    assert families["b"].samples["b", ""] == 1000.0 and math.isnan(families["c"].samples["c", ""])


@pytest.mark.parametrize(
    "buckets, share, expected",
    [
        pytest.param({1.0: 4.0, math.inf: 4.0}, 0.5, 0.5, id="inside the first"),
        pytest.param({1.0: 0.0, 2.0: 4.0, math.inf: 4.0}, 0.25, 1.25, id="inside the second"),
        pytest.param({1.0: 1.0, math.inf: 4.0}, 0.9, 1.0, id="beyond the last edge"),
        pytest.param({}, 0.5, math.nan, id="nothing"),
    ],
)
def test_a_percentile_is_linear_inside_its_bucket(buckets, share, expected):
    assert percentile(buckets, share) == pytest.approx(expected, nan_ok=True)


class Engine(http.server.BaseHTTPRequestHandler):
    calls = 0

    def do_GET(self):
        type(self).calls += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page(tokens=100 * self.calls).encode())

    def log_message(self, *args):
        pass


def test_an_engine_is_scraped_while_the_run_goes_on(init, recorded):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run = init(host=0.05, scrape=f"127.0.0.1:{server.server_port}")
        end = time.monotonic() + 60
        while Engine.calls < 4 and time.monotonic() < end:
            time.sleep(0.02)
        run.finish()
        server.shutdown()
    got = recorded(run).rows["host"]
    engine = {row["name"] for row in got if row["device"] == f"engine/127.0.0.1:{server.server_port}"}
    assert {"engine/requests_running", "engine/generated_tokens"} <= engine
    assert {"host/cpu_utilisation", "host/memory_used", "host/process_memory"} <= {row["name"] for row in got}
    assert all(row["host"] and row["time_ns"] for row in got)


def test_an_engine_that_is_down_is_reported_once(init, capfd, monkeypatch):
    tries, read = [], Scraper.read
    monkeypatch.setattr(Scraper, "read", lambda scraper: tries.append(1) or read(scraper))
    run, end = init(host=0.02, scrape=["127.0.0.1:9"]), time.monotonic() + 60
    while len(tries) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    run.finish()
    assert len(tries) >= 4 and capfd.readouterr().err.count("127.0.0.1:9") == 1


class Endless(Engine):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):  # until the reader closes the connection
            while True:
                self.wfile.write(b"vllm:num_requests_running 1\n" * 10_000)


def test_an_endpoint_that_never_stops_answering_does_not_fill_the_memory():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(ValueError, match="more than 32 MB"):
            Scraper(f"127.0.0.1:{server.server_address[1]}").read()
        server.shutdown()


def test_psutil_and_proc_agree(tmp_path):
    pytest.importorskip("psutil")
    one, two = _psutil()(), _proc()()
    levels = [{(device, name): value for device, name, value in side[0]} for side in (one, two)]
    assert levels[0].keys() == levels[1].keys() and one[1].keys() == two[1].keys()
    for quantity in (("memory", "host/memory_used"), ("process", "host/process_memory")):
        assert levels[0][quantity] == pytest.approx(levels[1][quantity], rel=0.2)


def test_rates_appear_at_the_second_reading(tmp_path):
    read = probe(str(tmp_path / "not" / "there"))
    first, second = {name for _, name, _ in read()}, {name for _, name, _ in read()}
    assert second - first >= {"host/process_cpu", "host/network_sent"} and "host/disk_free" in first


def test_readings_of_the_machine_have_names_of_the_catalogue():
    import rollscope.catalog.families  # noqa: F401
    from rollscope.catalog.spec import METRICS

    seen = {name for _, name, _ in probe("/tmp")()}
    assert seen <= METRICS.keys(), seen - METRICS.keys()
