"""Tests of the client without a service."""

from __future__ import annotations

import ast
import builtins
import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import souk
from souk import Souk, SoukError, errors
from souk._generated import errors as of_codes
from souk._retry import Attempts, pause_before_retry

from .fake_service import FakeService, Scripted

PACKAGE = Path(souk.__file__).parent


class WithService(unittest.TestCase):
    def setUp(self) -> None:
        self.service = FakeService()
        self.addCleanup(self.service.close)
        self.souk = self.service.client()

    def answer(self, *answers: Scripted) -> None:
        self.service.answers.extend(answers)


def refused(status: int, code: str, metadata: Any = None, **headers: str) -> Scripted:
    body = json.dumps({"code": code, "msg": "said", "data": None, "metadata": metadata}).encode()
    return Scripted(status, headers={key.replace("_", "-"): value for key, value in headers.items()}, body=body)


class Requests(WithService):
    def test_sends_the_parameters_of_a_call_as_json_and_its_options_in_the_query(self) -> None:
        self.answer(Scripted(data={"products": []}, headers={"X-Units-Consumed": "2", "X-Job-Id": "j1"}))
        answer = self.souk.market.product(country="us", asins=["B08N5WRWNX"], decode=True, max_units=5)
        [request] = self.service.received
        self.assertEqual((request.method, request.path), ("POST", "/api/market/product?maxUnits=5"))
        self.assertEqual(json.loads(request.body), {"country": "us", "asins": ["B08N5WRWNX"], "decode": True})
        self.assertEqual(request.headers["Authorization"], "Bearer km_secret")
        self.assertEqual((answer.data, answer.meta.units, answer.meta.job_id), ({"products": []}, 2, "j1"))
        self.assertEqual(self.souk.units.spent, 2)

    def test_writes_lists_and_booleans_of_a_query_as_the_service_reads_them(self) -> None:
        self.answer(Scripted(data={}))
        self.souk.market.seller(country="us", seller=["A1", "A2"], storefront=True)
        self.assertIn("seller=A1%2CA2&country=us&storefront=true", self.service.received[0].path)

    def test_quotes_the_id_of_a_path(self) -> None:
        self.answer(Scripted(data={}))
        self.souk.jobs.get("../../keys?x")
        self.assertEqual(self.service.received[0].path, "/api/jobs/..%2F..%2Fkeys%3Fx")

    def test_sends_none_only_where_it_is_a_value(self) -> None:
        self.answer(Scripted(data={}))
        self.souk.batches.create(operation="market.product", items=[{}], name=None, deadline=None, idempotencyKey="k")
        body = json.loads(self.service.received[0].body)
        self.assertEqual(
            body, {"operation": "market.product", "items": [{}], "name": None, "deadline": None, "idempotencyKey": "k"}
        )

    def test_reads_a_compressed_answer(self) -> None:
        packed = gzip.compress(json.dumps({"code": "0000", "data": {"id": 9007199254740993}}).encode())
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        self.answer(Scripted(headers=headers, body=packed))
        self.assertEqual(self.souk.account.quota().data, {"id": 9007199254740993})

    def test_follows_a_202_to_the_result(self) -> None:
        accepted = {"X-Job-Id": "j1", "X-Units-Consumed": "0"}
        running = {"X-Job-Id": "j1", "Retry-After": "3"}
        done = Scripted(data={"asinList": []}, headers={"X-Units-Charged": "50"})
        self.answer(Scripted(202, {}, accepted), Scripted(202, {}, running), done)
        answer = self.souk.market.top_seller(country="us")
        self.assertEqual((answer.data, answer.meta.units, self.souk.units.spent), ({"asinList": []}, 50, 50))
        self.assertEqual([one.path for one in self.service.received][1:], ["/api/jobs/j1/result?wait=30"] * 2)
        self.assertEqual(self.service.pauses, [3.0])

    def test_reads_a_list_to_its_end(self) -> None:
        self.answer(Scripted(data={"ledger": [{"n": 1}], "nextCursor": "c"}), Scripted(data={"ledger": [{"n": 2}]}))
        self.assertEqual([line["n"] for line in self.souk.billing.ledger(limit=1)], [1, 2])
        self.assertEqual(self.service.received[1].path, "/api/ledger?limit=1&cursor=c")


class Retries(WithService):
    def test_waits_as_long_as_retry_after_says(self) -> None:
        self.answer(refused(503, "BUSY", Retry_After="7"), refused(429, "TOO_MANY_REQUESTS", Retry_After="3"))
        self.answer(Scripted(502, headers={}, body=b"<html>"), Scripted(data={"ok": 1}))
        self.assertEqual(self.souk.account.quota().data, {"ok": 1})
        self.assertEqual(self.service.pauses, [7.0, 3.0, 1.0])

    def test_gives_up_when_the_pauses_exceed_the_budget(self) -> None:
        self.answer(refused(429, "QUOTA_DAILY_EXCEEDED", Retry_After="3600"))
        with self.assertRaises(errors.QuotaDailyExceededError) as raised:
            self.souk.account.quota()
        self.assertEqual((raised.exception.status, raised.exception.retry_after), (429, 3600.0))

    def test_repeats_an_answer_that_ends_early(self) -> None:
        self.answer(Scripted(data={"long": "x" * 100}, cut=40), Scripted(data={"ok": 1}))
        self.assertEqual(self.souk.account.quota().data, {"ok": 1})

    def test_does_not_repeat_what_would_be_done_twice(self) -> None:
        self.answer(refused(500, "5000"))
        with self.assertRaises(errors.InternalError):
            self.souk.schedules.run("s1")
        self.assertEqual(len(self.service.received), 1)

    def test_asks_for_the_units_of_a_call_whose_answer_was_lost(self) -> None:
        joined = {"X-Deduplicated": "true", "X-Units-Consumed": "0", "X-Job-Id": "j1"}
        for lost in (Scripted(data={}, cut=5), Scripted(504, headers={}, body=b"<html>a proxy</html>")):
            with self.subTest(status=lost.status):
                self.service = FakeService()
                self.addCleanup(self.service.close)
                souk = self.service.client()
                self.answer(lost, Scripted(data={}, headers=joined), Scripted(data={"unitsCharged": 4}))
                self.assertEqual(souk.market.deal(domainId=1, priceTypes=[0], dateRange=1).meta.units, 4)
                self.assertEqual(souk.units.spent, 4)

    def test_sends_a_batch_again_with_the_same_key(self) -> None:
        self.answer(Scripted(data={}, cut=5), Scripted(data={"batchId": "b"}))
        self.souk.batches.create(operation="market.product", items=[{}])
        keys = [json.loads(one.body)["idempotencyKey"] for one in self.service.received]
        self.assertEqual(keys[0], keys[1])

    def test_does_not_send_a_call_again_after_four_minutes(self) -> None:
        lost = errors.ConnectionFailedError("lost")
        attempts = Attempts("charged", count=1, lost_at=0.0)
        self.assertIsNotNone(pause_before_retry(lost, attempts, 230.0, 4, 90.0, 0.0))
        self.assertIsNone(pause_before_retry(lost, attempts, 239.9, 4, 90.0, 0.0))

    def test_results_of_a_batch_continue_behind_the_last_one(self) -> None:
        lines = b'{"index": 0}\n{"index": 1}\n'
        finished = Scripted(headers={"X-Batch-Finished": "true"}, body=b'{"index": 1}\n')
        self.answer(Scripted(headers={}, body=lines, cut=16), finished)
        self.assertEqual([one["index"] for one in self.souk.batches.results("b")], [0, 1])
        self.assertEqual(self.service.received[1].path, "/api/batches/b/results?cursor=0")


class Secrets(WithService):
    def test_a_redirect_is_not_followed(self) -> None:
        elsewhere = FakeService()
        self.addCleanup(elsewhere.close)
        self.answer(Scripted(307, headers={"Location": f"{elsewhere.url}/steal"}, body=b""))
        with self.assertRaisesRegex(SoukError, "another address"):
            self.souk.account.quota()
        self.assertEqual(elsewhere.received, [])

    def test_the_key_is_in_no_repr_and_no_message(self) -> None:
        self.answer(refused(401, "4001"))
        with self.assertRaises(errors.KeyInvalidError) as raised:
            self.souk.account.quota()
        shown = [self.souk, self.souk._calls.transport, self.souk.market, raised.exception]
        for one in shown:
            self.assertNotIn("km_secret", repr(one))
        with self.assertRaises(ValueError) as unusable:
            Souk("km_secret\n", "http://127.0.0.1")
        self.assertNotIn("km_secret", str(unusable.exception))

    def test_an_address_with_a_user_is_refused(self) -> None:
        for address in ("http://me:pass@127.0.0.1", "ftp://souk", "", "souk.example"):
            with self.assertRaises(ValueError) as refusal:
                Souk("km_secret", address or " ")
            self.assertNotIn("pass", str(refusal.exception))


class Files(WithService):
    def test_a_file_appears_when_it_is_complete(self) -> None:
        table = b"asin\nB08N5WRWNX\n"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "products.csv")
            self.answer(Scripted(headers={"Content-Type": "text/csv"}, body=table, cut=6))
            self.answer(Scripted(headers={"Content-Type": "text/csv"}, body=table))
            answer = self.souk.save(str(path), "market.product", country="us", asins=["B08N5WRWNX"])
            self.assertEqual((answer.data, path.read_bytes()), (str(path), table))
            self.assertEqual([one.name for one in Path(folder).iterdir()], ["products.csv"])
        self.assertEqual(self.service.received[0].path, "/api/market/product?format=csv")

    def test_a_refusal_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.answer(refused(400, "VALIDATION_FAILED", {"errors": []}))
            with self.assertRaises(errors.ValidationFailedError):
                self.souk.batches.save("b", str(Path(folder, "out.parquet")), table="history")
            self.assertEqual(list(Path(folder).iterdir()), [])
        self.assertEqual(self.service.received[0].path, "/api/batches/b/results?format=parquet&table=history")

    def test_a_file_has_the_form_of_its_ending_or_of_format_also_after_a_job(self) -> None:
        binary = bytes(range(256)) * 300
        forms = {"a.parquet": "parquet", "a.XLSX": "xlsx", "a.jsonl": "ndjson", "a.ndjson": "ndjson", "a.txt": "csv"}
        with tempfile.TemporaryDirectory() as folder:
            for name, form in forms.items():
                accepted = Scripted(202, data={}, headers={"X-Job-Id": "j1"})
                self.answer(accepted, Scripted(headers={"Content-Type": "application/x"}, body=binary))
                path = Path(folder, name)
                self.souk.save(str(path), "market.product", table="daily", country="us", asins=["B08N5WRWNX"])
                self.assertEqual(path.read_bytes(), binary)
                asked = [one.path for one in self.service.received[-2:]]
                self.assertEqual(asked[0], f"/api/market/product?format={form}&table=daily")
                self.assertEqual(asked[1], f"/api/jobs/j1/result?wait=30&format={form}&table=daily")
            self.answer(Scripted(headers={}, body=binary))
            self.souk.batches.save("b", str(Path(folder, "data")), format="xlsx")
            self.assertEqual(self.service.received[-1].path, "/api/batches/b/results?format=xlsx")

    def test_a_broken_download_continues_with_the_rest_while_the_file_is_the_same(self) -> None:
        table = bytes(range(256)) * 1000
        whole, rest = Scripted(headers={"ETag": '"v1"'}, body=table, cut=100_000), table[100_000:]
        ranges = {"Content-Range": f"bytes 100000-{len(table) - 1}/{len(table)}", "ETag": '"v1"'}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "out.parquet")
            self.answer(whole, Scripted(206, headers=ranges, body=rest, cut=50_000))
            self.answer(Scripted(206, headers=ranges, body=table[150_000:]))
            self.assertEqual(self.souk.batches.save("b", str(path)), str(path))
            self.assertEqual(path.read_bytes(), table)
            asked = [(one.headers.get("Range"), one.headers.get("If-Range")) for one in self.service.received]
            self.assertEqual(asked, [(None, None), ("bytes=100000-", '"v1"'), ("bytes=150000-", '"v1"')])
            # The file has changed meanwhile, so the service sends the new one.
            self.answer(whole, Scripted(headers={"ETag": '"v2"'}, body=b"new"))
            self.souk.files.save("f", str(path))
            self.assertEqual((path.read_bytes(), self.service.received[-1].path), (b"new", "/api/files/f"))
            self.assertEqual([one.name for one in Path(folder).iterdir()], ["out.parquet"])

    def test_a_download_that_breaks_again_and_again_ends_and_leaves_no_file(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.answer(*[Scripted(body=b"asin,title", headers={"Content-Type": "text/csv"}, cut=4)] * 5)
            with self.assertRaises(errors.ConnectionFailedError):
                self.souk.batches.save("b", str(Path(folder, "out.csv")))
            self.assertEqual(list(Path(folder).iterdir()), [])

    def test_changes_of_a_run_are_rows(self) -> None:
        change = {"index": 0, "key": "B08N5WRWNX", "column": "price", "before": 10, "after": 12}
        self.answer(Scripted(body=json.dumps(change).encode() + b"\n"))
        self.assertEqual(list(self.souk.batches.changes("b")), [change])

    def test_an_unknown_operation_is_refused_by_name(self) -> None:
        with self.assertRaisesRegex(ValueError, "market.product"):
            self.souk.save("out.csv", "market.moon")  # type: ignore[arg-type]


def without_pandas(name: str, *others: Any, **named: Any) -> Any:
    if name == "pandas":
        raise ImportError(name)
    return REAL_IMPORT(name, *others, **named)


REAL_IMPORT = builtins.__import__

try:
    import pandas
except ImportError:
    pandas = None  # type: ignore[assignment]


class Frames(WithService):
    def test_without_pandas_the_error_says_how_to_get_it_and_nothing_is_sent(self) -> None:
        with mock.patch("builtins.__import__", without_pandas):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                self.souk.to_frame("market.product", country="us", asins=["B08N5WRWNX"])
        self.assertEqual(self.service.received, [])

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_a_table_keeps_ids_as_texts_and_times_as_times(self) -> None:
        table = b"asin,price,updatedAt\n0306406152,19.99,2026-11-23T00:00:00Z\n0306406153,,\n"
        self.answer(Scripted(headers={"Content-Type": "text/csv"}, body=table))
        frame = self.souk.to_frame("market.product", country="us", asins=["0306406152"])
        self.assertEqual(list(frame["asin"]), ["0306406152", "0306406153"])
        self.assertEqual(str(frame["updatedAt"].dtype), "datetime64[ns, UTC]")
        self.assertEqual(frame["price"].isna().tolist(), [False, True])

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_an_answer_has_its_only_list_as_rows(self) -> None:
        self.answer(Scripted(data={"asinList": ["B1", "B2"], "totalResultCount": 2}))
        frame = self.souk.market.product_finder(country="us", current_SALES_lte=1).to_frame()
        self.assertEqual(frame["asinList"].tolist(), ["B1", "B2"])


class Package(unittest.TestCase):
    def test_parses_as_python_3_9(self) -> None:
        for path in PACKAGE.rglob("*.py"):
            ast.parse(path.read_text(), feature_version=(3, 9))

    def test_is_typed_and_names_its_version_once_more_in_pyproject(self) -> None:
        project = Path(__file__).parent.parent
        self.assertIn(f'version = "{souk.__version__}"', (project / "pyproject.toml").read_text())
        self.assertTrue((PACKAGE / "py.typed").exists())

    def test_each_error_code_has_a_class_below_the_one_of_its_status(self) -> None:
        for code, named in of_codes.BY_CODE.items():
            self.assertTrue(issubclass(named, SoukError), code)
        self.assertIs(of_codes.BY_CODE["JOB_NOT_FOUND"], errors.JobNotFoundError)
        self.assertTrue(issubclass(errors.QuotaMinuteExceededError, errors.QuotaError))
        self.assertTrue(issubclass(errors.KeyCapReachedError, errors.RateLimitError))


if __name__ == "__main__":
    unittest.main()
