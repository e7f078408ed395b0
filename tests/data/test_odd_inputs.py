"""Tables of any Arrow type, and files with odd bytes: valid rows keep theirs, and nothing is lost."""

from __future__ import annotations

import base64
import json
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatmend.data import LayoutError, check_table, repair_rows, repair_table
from tests.data.test_files import BROKEN, HOPELESS, VALID, lines, parquet, run
from tests.data.test_formats import ANSWER, ASK, CALLING, PLACEHOLDER
from tests.data.test_formats import BROKEN as BROKEN_LAYOUTS
from tests.data.test_tables import OPEN, QWEN, statuses, table
from tests.data.test_tables import VALID as VALID_MESSAGES
from tests.scale import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def with_types(kind: pa.DataType, texts: Callable[[str], pa.DataType], lists: Any) -> pa.DataType:
    """Return the type with other types of texts, by the name of their field, and of lists."""
    if pa.types.is_list(kind):
        return lists(with_types(kind.value_type, texts, lists))
    if not pa.types.is_struct(kind):
        return kind
    fields = {f.name: texts(f.name) if f.type == pa.string() else f.type for f in kind}
    return pa.struct([(name, with_types(t, texts, lists)) for name, t in fields.items()])


def dictionary(name: str) -> pa.DataType:
    return pa.dictionary(pa.int32(), pa.string()) if name == "role" else pa.string()


@pytest.mark.parametrize(
    ("texts", "lists"),
    [
        (lambda _: pa.large_string(), pa.large_list),
        (lambda _: pa.string_view(), pa.list_),
        (dictionary, pa.list_),
        (lambda _: pa.string(), pa.list_view),
        (lambda _: pa.string_view(), pa.large_list_view),
    ],
)
def test_all_types_of_texts_and_lists_are_repaired(texts: Any, lists: Any) -> None:
    plain = table(VALID_MESSAGES, OPEN, VALID_MESSAGES)
    kind = with_types(plain.schema.field("messages").type, texts, lists)
    column = pa.array(plain["messages"].to_pylist(), kind)
    given = pa.table({"messages": column, "id": plain["id"]})
    done = repair_table(given, target=QWEN)
    assert statuses(done) == ["valid", "repaired", "valid"]
    assert done.schema.remove(2) == given.schema
    assert done["messages"][1].as_py()[2]["role"] == "tool"
    assert done["messages"].to_pylist()[::2] == given["messages"].to_pylist()[::2]


ODD_VALUES: tuple[Any, ...] = (True, None, 7, "x", [], {}, [[]], float("nan"))


def with_odd_values(value: Any) -> Iterator[Any]:
    """Yield copies of a row, each with one odd value in it."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, held in [*items]:
        inner = with_odd_values(held) if isinstance(held, dict | list) else ()
        for odd in (*ODD_VALUES, *inner):
            copied = {**value} if isinstance(value, dict) else [*value]
            copied[key] = odd
            yield copied


@pytest.mark.parametrize(
    "row", [row for _, row, _ in BROKEN_LAYOUTS], ids=[name for name, _, _ in BROKEN_LAYOUTS]
)
def test_odd_values_at_any_place_of_a_row_raise_nothing(row: dict[str, Any]) -> None:
    for odd in islice(with_odd_values(row), 0, None, examples(5, 1)):
        try:
            (done,) = repair_rows([odd], target="strict")
        except LayoutError:  # it has no layout any more
            continue
        assert (done.row is odd) == (done.status != "repaired"), odd


@pytest.mark.parametrize("odd", ODD_VALUES)
def test_an_odd_entry_among_the_messages_raises_nothing(odd: Any) -> None:
    (done,) = repair_rows([{"messages": [ASK, odd, ANSWER]}], target="strict")
    first, *_, last = done.row["messages"]
    assert first["content"].startswith(ASK["content"])
    assert last == ANSWER


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_messages_may_be_json_texts_of_any_type(kind: pa.DataType) -> None:
    texts = [json.dumps(VALID_MESSAGES), json.dumps(OPEN), "not JSON", None]
    for column in (pa.array(texts, kind), pa.array(texts).dictionary_encode()):
        done = repair_table(pa.table({"messages": column}), target=QWEN)
        assert statuses(done) == ["valid", "repaired", "quarantined", "quarantined"]
        assert done["messages"].type == column.type
        assert json.loads(done["messages"][1].as_py())[2]["role"] == "tool"


def test_a_repair_that_needs_null_where_the_schema_forbids_it_is_quarantined() -> None:
    kind = pa.struct(
        [
            pa.field(name, pa.string(), nullable=name == "content")
            for name in ("role", "content", "x")
        ]
    )
    rows = [[{"role": "user", "content": "a", "x": ""}, {"role": "bot", "content": "b", "x": ""}]]
    stays = repair_table(pa.table({"messages": pa.array(rows, pa.list_(kind))}), target=QWEN)
    assert statuses(stays) == ["repaired"]
    merged = [[rows[0][0], rows[0][0], {"role": "assistant", "content": "", "x": ""}]]
    done = repair_table(pa.table({"messages": pa.array(merged, pa.list_(kind))}), target="strict")
    assert statuses(done) == ["quarantined"]


def test_rows_of_fixed_size_that_would_grow_are_quarantined() -> None:
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]), 2)
    rows = [
        [ASK, ANSWER],
        [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}],
    ]
    done = repair_table(pa.table({"messages": pa.array(rows, kind)}), target="strict")
    assert statuses(done) == ["valid", "quarantined"]
    assert "items; its type requires 2" in done["chatmend"][1].as_py()["error"]


def test_a_batch_without_any_messages_is_quarantined() -> None:
    kind = table(VALID_MESSAGES).schema.field("messages").type
    done = repair_table(pa.table({"messages": pa.array([None, [], None], kind)}), target=QWEN)
    assert statuses(done) == ["quarantined"] * 3


def test_a_column_of_the_caller_is_never_taken_for_a_report() -> None:
    given = table(VALID_MESSAGES, OPEN).append_column("chatmend", pa.array([1, 2]))
    with pytest.raises(LayoutError, match="column 'chatmend' that is not a report; choose another"):
        repair_table(given, target=QWEN)
    with pytest.raises(LayoutError, match="column 'messages' that is not a report"):
        repair_table(given, target=QWEN, report="messages")
    done = repair_table(given, target=QWEN, report="repair")
    assert done["chatmend"].to_pylist() == [1, 2]
    assert done["repair"][1].as_py()["status"] == "repaired"


def test_the_quarantine_of_a_file_with_such_a_column_has_another_name(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", {**VALID, "chatmend": 1}, {**HOPELESS, "chatmend": 2})
    run(tmp_path / "a.parquet", "--out", tmp_path / "out")
    bad = pq.read_table(tmp_path / "out" / "quarantine" / "a.parquet")
    assert bad["chatmend"].to_pylist() == [2]
    assert bad["chatmend_quarantine"][0].as_py()["status"] == "quarantined"


def test_check_table_reads_a_stream() -> None:
    batches = table(VALID_MESSAGES, OPEN).to_batches(max_chunksize=1)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert statuses(check_table(reader, target=QWEN).read_all()) == ["valid", "repaired"]


IMAGE = {"type": "image"}
TEXT = {"type": "text", "text": "What is it?"}


@pytest.mark.parametrize("target", ["strict", "hosted_vllm/Qwen/Qwen2.5-VL-7B-Instruct", QWEN])
@pytest.mark.parametrize(
    "part",
    [
        IMAGE,
        {"type": "video"},
        {"type": "audio"},
        {"type": "image", "url": "cat.png"},
        {"type": "image", "image": "data:image/png;base64,iVBORw0KGgo="},
    ],
)
def test_media_of_chat_templates_stay_unchanged(part: dict[str, Any], target: str) -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}
    row = {"messages": [{"role": "user", "content": [part, TEXT]}, answer], "images": ["cat.png"]}
    (result,) = repair_rows([row], target=target)
    assert (result.status, result.row) == ("valid", row)


def good(tmp_path: Path, name: str, raw: bytes) -> bytes:
    (tmp_path / name).write_bytes(raw)
    run(tmp_path / name, "--out", tmp_path / "out")
    return (tmp_path / "out" / name).read_bytes()


def quarantined(tmp_path: Path, name: str) -> list[Any]:
    path = next((tmp_path / "out" / "quarantine").glob(f"{name}*"))
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def test_a_byte_order_mark_stays_in_front_of_usable_lines(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    assert good(tmp_path, "a.jsonl", mark + lines(VALID)) == mark + lines(VALID)
    assert good(tmp_path, "b.jsonl", mark + lines(BROKEN)).startswith(mark + b'{"messages"')
    good(tmp_path, "c.jsonl", mark + lines(HOPELESS, VALID))
    assert [row["row"] for row in quarantined(tmp_path, "c.jsonl")] == [HOPELESS]


def test_a_line_that_is_not_utf_8_is_kept_as_base64(tmp_path: Path) -> None:
    raw = b'{"messages": "\xff"}'
    assert good(tmp_path, "a.jsonl", raw + b"\n" + lines(VALID)) == lines(VALID)
    (row,) = quarantined(tmp_path, "a.jsonl")
    assert (row["row"], base64.b64decode(row["base64"])) == ('{"messages": "\ufffd"}', raw)


def test_a_first_line_without_a_layout_does_not_stop_the_others(tmp_path: Path) -> None:
    assert good(tmp_path, "a.jsonl", lines({"text": "x"}, VALID)) == lines(VALID)
    assert [row["row"] for row in quarantined(tmp_path, "a.jsonl")] == [{"text": "x"}]
    assert good(tmp_path, "b.jsonl", b"\n\n") == b""


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_rows_of_a_json_file_keep_their_text(tmp_path: Path, indent: int, start: str) -> None:
    text = start + json.dumps([VALID, {**VALID, "n": 1}], indent=indent) + "\n"
    whole = text.replace('"n": 1', '"n": 1.50, "big": 12345678901234567890123').encode()
    assert good(tmp_path, "a.json", whole) == whole
    mixed = json.dumps([VALID, BROKEN, HOPELESS], indent=indent).encode()
    written = good(tmp_path, "b.json", mixed)
    assert json.loads(written)[0] == VALID
    assert json.loads(written)[1]["messages"][2]["content"] == PLACEHOLDER["content"]
    assert len(json.loads(written)) == 2


CLEAN = json.dumps([ASK]).replace('"', '""')


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"trace_id,input\r\n",
        f'trace_id,input\nt,"{CLEAN}"\n'.encode(),
        f'\ufeff"trace_id","input"\r\n"t","{CLEAN}"\r\n'.encode(),
        f'trace_id,input,n\nt,"{CLEAN}"\nt,"{CLEAN}",2,more\n'.encode(),
        f'trace_id,input,n,n\nt,"{CLEAN}","a\nb",2'.encode(),
    ],
)
def test_valid_rows_of_csv_keep_their_bytes(tmp_path: Path, raw: bytes) -> None:
    assert good(tmp_path, "a.csv", raw) == raw


def test_a_repaired_row_of_csv_keeps_its_other_cells_and_its_style(tmp_path: Path) -> None:
    broken = json.dumps([ASK, CALLING, ASK]).replace('"', '""')
    raw = f'"trace_id","input","n"\n"t","{broken}","a\nb","more"\n'.encode()
    written = good(tmp_path, "a.csv", raw).decode()
    repaired = json.dumps([ASK, CALLING, PLACEHOLDER, ASK]).replace('"', '""')
    assert written == f'"trace_id","input","n"\n"t","{repaired}","a\nb","more"\n'


def test_a_row_of_csv_that_is_not_utf_8_is_quarantined_alone(tmp_path: Path) -> None:
    raw = f'trace_id,input\nt,"{CLEAN}"\n'.encode()
    bad = b'\xe4,"[]"\n'
    assert good(tmp_path, "a.csv", raw + bad) == raw
    (row,) = quarantined(tmp_path, "a.csv")
    assert (row["error"], base64.b64decode(row["base64"])) == ("not UTF-8", bad)
