"""Files of every kind: types, forms, owners, recordings, sizes; a sample at the sandbox."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import chatmend
from chatmend.documents import probe_pdf, probe_recording, read_docx
from chatmend.images.reader import base64_reader, bytes_reader
from tests.documents import files
from tests.documents.pdfs import by_pillow, part, protected, said, with_object_streams

CLAUDE, GPT, NOVA = (
    "anthropic/claude-sonnet-4-5",
    "openai/gpt-4.1",
    "bedrock/us.amazon.nova-pro-v1:0",
)
GEMINI = "gemini/gemini-2.5-flash"


def ask(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": [{"type": "text", "text": "Read it."}, *parts]}]


def repaired(messages: list[Any], target: str, **options: Any) -> Any:
    done = chatmend.repair(messages, target, **options)
    assert chatmend.replay(messages, done.changes) == done.messages
    again = chatmend.repair(done.messages, target, **options)
    assert again.messages is done.messages, again.report()
    return done


def only(target: str, item: Any, **options: Any) -> tuple[Any, list[str]]:
    """The part after the repair, and the codes of the changes."""
    done = repaired(ask(item), target, **options)
    (_, becomes) = done.messages[0]["content"]
    return becomes, [change.code for change in done.changes]


@pytest.mark.parametrize(
    ("target", "item"),
    [
        (GPT, files.file(by_pillow(1), "a.pdf", "application/pdf")),
        (GPT, {"type": "file", "file": {"file_id": "file-abcdefgh1234"}}),
        (GPT, files.image("https://example.com/a.png")),
        ("openai/gpt-4o-audio-preview", files.audio(files.wav(1), "wav")),
        (GEMINI, files.file(b"a,b", "a.csv", "text/csv")),
        (GEMINI, files.audio(files.wav(1), "wav")),
        (CLAUDE, part(by_pillow(100), "a.pdf")),
        ("other", files.file(files.docx("a"), "a.docx", files.DOCX)),
        ("hosted_vllm/x", files.image("file:///srv/a.png")),
    ],
)
def test_what_the_target_takes_is_the_same_object(target: str, item: Any) -> None:
    messages = ask(item)
    assert chatmend.repair(messages, target).messages is messages


@pytest.mark.parametrize(
    ("target", "dialect", "item"),
    [
        (GEMINI, "gemini_contents", {"file_data": {"mime_type": "application/pdf", "file_uri": "https://generativelanguage.googleapis.com/v1beta/files/a"}}),
        (CLAUDE, "anthropic_messages", {"type": "image", "cache_control": {"type": "ephemeral"}, "source": {"type": "file", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"}}),
        (CLAUDE, "anthropic_messages", {"type": "container_upload", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"}),
        (NOVA, "bedrock_converse", {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/a.mp4"}}}}),
        (GPT, "openai_responses", {"type": "input_image", "file_id": "file-abcdefgh1234"}),
    ],
)  # fmt: skip
def test_a_stored_file_in_the_form_of_the_dialect_is_the_same_object(
    target: str, dialect: str, item: Any
) -> None:
    messages = [{"role": "user", "parts" if dialect == "gemini_contents" else "content": [item]}]
    done = chatmend.repair(messages, target, dialect=dialect)
    assert not [change for change in done.changes if change.code != "DOC001"], done.report()


def test_texts_and_word_files_are_sent_as_text_where_only_pdfs_are_taken() -> None:
    for data, name, kind, text in (
        (b"a,b\n1,2", "a.csv", "text/csv", "a,b\n1,2"),
        ("Größe".encode("cp1252"), "a.txt", "text/plain", "Größe"),
        ("Größe".encode("utf-16"), "a.txt", "text/plain", "Größe"),
        (files.docx("Hello", "World"), "a.docx", files.DOCX, "Hello\nWorld\na\tb"),
    ):
        for target in (GPT, CLAUDE):
            becomes, codes = only(target, files.file(data, name, kind))
            assert becomes == {"type": "text", "text": f"Document {name}:\n{text}"}
            assert codes == ["DOC005"]


def test_other_files_become_a_note_with_name_type_and_size() -> None:
    data = files.zipped({"a.txt": "x"})
    becomes, _ = only(GPT, files.file(data, "a.zip", "application/zip"))
    assert becomes["text"].startswith(
        f"Document removed (a.zip, application/zip, {len(data)} bytes"
    )


def test_of_a_long_text_the_beginning_is_sent() -> None:
    becomes, _ = only(GPT, files.file(b"line\n" * 200_000, "a.txt", "text/plain"))
    assert becomes["text"].startswith("Document a.txt, its first 400000 characters:\nline")
    assert len(becomes["text"]) < 400_100


def test_a_docx_with_a_document_type_a_bomb_or_another_compression_is_not_read() -> None:
    xml = '<!DOCTYPE a [<!ENTITY b "bbbb">]><w:document xmlns:w="x"/>'
    assert read_docx(files.zipped({"word/document.xml": xml})) is None
    bomb = files.zipped({"word/document.xml": b"\0" * 30_000_000})
    assert len(bomb) < 100_000
    assert read_docx(bomb) is None
    assert read_docx(b"PK\x03\x04 broken") is None


@pytest.mark.parametrize(
    ("data", "kind", "seconds"),
    [
        (files.wav(2.5), "WAV", 2.5),
        (files.mp3(100), "MP3", 2.606),
        (files.mp3(100, tagged=True), "MP3", 2.606),
        (files.mp4(5), "MP4", 5.0),
        (files.mp4(5, version=1), "MP4", 5.0),
        (files.ogg(7), "Ogg", 7.0),
        (files.flac(9), "FLAC", 9.0),
        (b"nothing", "", None),
        (b"", "", None),
    ],
)
def test_type_and_duration_of_a_recording_are_read_from_its_header(
    data: bytes, kind: str, seconds: float | None
) -> None:
    for reader in (bytes_reader(data), base64_reader(base64.b64encode(data).decode())):
        facts = probe_recording(reader)
        assert facts.type == kind
        assert facts.seconds == (None if seconds is None else pytest.approx(seconds, abs=0.01))


def test_a_recording_becomes_a_note_without_its_base64() -> None:
    recording = files.wav(2.5)
    for item in (
        files.audio(recording, "wav"),
        files.inline(recording, "audio/wav"),
        {"type": "audio", "base64": files.encoded(recording), "mime_type": "audio/wav"},
    ):
        for target in (CLAUDE, GPT, "deepseek/deepseek-chat"):
            becomes, codes = only(target, item)
            assert codes == ["MEDIA001"]
            assert becomes["text"] == (
                "Audio removed (WAV, 2.5 s, 40 KB): this model does not take audio."
            )


def test_no_file_becomes_json_with_base64() -> None:
    for dialect, key in (("anthropic_messages", "content"), ("gemini_contents", "parts")):
        target = CLAUDE if key == "content" else GEMINI
        for name, parts in files.samples().items():
            if "long" in name or "pages" in name:
                continue
            messages = [{"role": "user", key: parts}]
            done = chatmend.repair(messages, target, dialect=dialect)
            for item in done.messages[0][key]:
                assert len(item.get("text", "")) < 300 or "text" in name, (name, dialect)


def test_files_of_other_providers_become_a_text_with_their_owner() -> None:
    openai, anthropic = "file-abcdefgh1234", "file_011CNha8iCJcU1wXNR6q4V8w"
    foreign = {
        CLAUDE: (openai, "gs://b/a.pdf", "s3://b/a.pdf"),
        GPT: (anthropic, "https://generativelanguage.googleapis.com/v1beta/files/abc"),
        GEMINI: (openai, anthropic, "s3://b/a.pdf"),
        NOVA: (openai, anthropic),
    }
    for target, names in foreign.items():
        for name in names:
            becomes, codes = only(target, {"type": "file", "file": {"file_id": name}})
            assert codes == ["FILE001"]
            assert becomes["text"].startswith(f"Document not available ({name}): it is stored at")


def test_an_id_of_unknown_form_stays_with_a_finding() -> None:
    messages = ask({"type": "file", "file": {"file_id": "my-file"}})
    done = chatmend.repair(messages, GPT)
    assert done.messages is messages
    assert [(change.code, change.finding) for change in done.changes] == [("FILE001", True)]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "file": {"file_id": "file-SECRETSECRET"}},
        {"type": "file", "file": {"filename": "SECRET.bin", "file_data": "data:a/b;base64,AAAA"}},
        {"type": "file", "file": {"filename": "SECRET.pdf", "file_data": "JVBERi0xLjcKSECRET"}},
        {"type": "image_url", "image_url": {"url": "file:///SECRET.png"}},
        {"type": "video", "base64": "QUJD", "mime_type": "SECRET/mp4", "name": "SECRET"},
    ],
)
@pytest.mark.parametrize("target", [CLAUDE, GPT, GEMINI, NOVA, "xai/grok-4"])
def test_the_reason_of_a_change_holds_nothing_of_the_request(
    target: str, part: dict[str, Any]
) -> None:
    done = chatmend.repair(ask(part), target)
    assert all("SECRET" not in change.why for change in done.changes)


def test_an_own_id_is_written_in_the_form_of_the_dialect() -> None:
    item = {"type": "input_file", "file_id": "file-abcdefgh1234"}
    becomes, codes = only(GPT, item, dialect="openai_chat")
    assert becomes == {"type": "file", "file": {"file_id": "file-abcdefgh1234"}}
    assert codes == ["DOC004"]


def test_a_recording_is_written_in_the_form_of_the_dialect() -> None:
    data = files.wav(1)
    messages = [{"role": "user", "parts": [files.audio(data, "wav")]}]
    done = repaired(messages, GEMINI, dialect="gemini_contents")
    assert done.messages[0]["parts"] == [files.inline(data, "audio/wav")]
    audio = "openai/gpt-4o-audio-preview"
    becomes, _ = only(audio, files.inline(data, "audio/wav"), dialect="openai_chat")
    assert becomes == files.audio(data, "wav")


@pytest.mark.parametrize(
    ("name", "target"),
    [("bare pdf", GPT), ("pdf of no type", GPT), ("pdf with line breaks", CLAUDE)],
)
def test_a_pdf_in_a_wrong_form_is_rewritten(name: str, target: str) -> None:
    (item,) = files.samples()[name]
    becomes, codes = only(target, item)
    data = base64.b64decode(item["file"]["file_data"].rpartition(",")[2])
    assert becomes["file"]["file_data"] == f"data:application/pdf;base64,{files.encoded(data)}"
    assert codes == ["DOC008"]


def test_a_long_document_is_replaced_or_split() -> None:
    messages = said(part(by_pillow(250), "long.pdf"))
    note = repaired(messages, CLAUDE, dialect="anthropic_messages")
    assert "250 pages): it has more pages than the model takes (100)" in json.dumps(note.messages)
    done = repaired(messages, CLAUDE, dialect="anthropic_messages", policy={"documents": "split"})
    _, caption, first = done.messages[0]["content"]
    assert caption["text"].endswith("250 pages: pages 1 to 100.")
    assert probe_pdf(base64.b64decode(first["source"]["data"])).pages == 100
    assert [(change.code, change.effect.name) for change in done.changes] == [
        ("DOC006", "DEGRADES")
    ]


def test_a_document_beyond_the_limit_of_one_document_is_split_without_loss() -> None:
    messages = [{"role": "user", "parts": [files.inline(with_pages(1010), "application/pdf")]}]
    policy = {"documents": "split"}
    done = repaired(messages, GEMINI, dialect="gemini_contents", policy=policy)
    pieces = [item for item in done.messages[0]["parts"] if "inlineData" in item]
    pages = [probe_pdf(base64.b64decode(item["inlineData"]["data"])).pages for item in pieces]
    assert pages == [1000, 10]
    assert [change.effect.name for change in done.changes] == ["RESHAPES"]


def with_pages(pages: int) -> bytes:
    """A small PDF of many pages that pypdf can read."""
    import io  # noqa: PLC0415

    import pypdf  # noqa: PLC0415

    writer, out = pypdf.PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(9, 9)
    writer.write(out)
    return out.getvalue()


def test_more_than_five_documents_for_bedrock_go_in_coarse_steps() -> None:
    sent: list[Any] = []
    changed, counts, data = 0, [], by_pillow(1)
    for turn in range(1, 12):
        messages: list[Any] = []
        for at in range(turn):
            document = part(data, f"report {at}", "bedrock")
            messages.append({"role": "user", "content": [{"text": "Read it."}, document]})
            messages.append({"role": "assistant", "content": [{"text": "Yes."}]})
        done = chatmend.repair(messages[:-1], NOVA, dialect="bedrock_converse").messages
        counts.append(json.dumps(done).count('"document"'))
        changed += done[: len(sent)] != sent
        sent = done
    assert max(counts) == 5
    assert changed == 2


def test_documents_count_as_images_for_claude() -> None:
    pictures = [
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    ] * 99
    first = part(by_pillow(1), "first.pdf")
    messages = [{"role": "user", "content": [first, *pictures, part(by_pillow(1), "b.pdf")]}]
    done = repaired(messages, CLAUDE, dialect="anthropic_messages")
    assert "Document removed (first.pdf" in done.messages[0]["content"][0]["text"]
    assert [change.code for change in done.changes] == ["IMG012"]
    assert sum(item["type"] != "text" for item in done.messages[0]["content"]) == 75


def test_the_oldest_documents_go_when_the_request_has_too_many_bytes() -> None:
    heavy = by_pillow(1) + b"%" * 9_000_000
    done = repaired(
        said(*(part(heavy, f"{at}.pdf") for at in range(3))), CLAUDE, dialect="anthropic_messages"
    )
    kinds = [done.messages[at]["content"][1]["type"] for at in (0, 2, 4)]
    assert kinds == ["text", "text", "document"]


@pytest.mark.parametrize(
    ("password", "algorithm", "opens"),
    [
        ("", "RC4-40", True),
        ("", "AES-128", True),
        ("", "AES-256-R5", True),
        ("secret", "RC4-128", False),
        ("secret", "AES-256-R5", False),
        ("", "AES-256", False),
    ],
)
def test_a_pdf_without_a_user_password_opens_freely(
    password: str,
    algorithm: str,
    opens: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    facts = probe_pdf(protected(password, algorithm))
    assert facts.is_encrypted
    assert facts.opens_freely is opens


def test_pages_in_object_streams_count_towards_the_limit_of_one_document() -> None:
    long = files.inline(with_object_streams(1001), "application/pdf")
    messages = [{"role": "user", "parts": [long]}]
    done = repaired(messages, GEMINI, dialect="gemini_contents")
    assert "1001 pages" in done.messages[0]["parts"][0]["text"]


@pytest.mark.parametrize("target", [CLAUDE, GPT, GEMINI])
def test_what_was_sent_stays_a_prefix_whatever_files_follow(target: str) -> None:
    messages: list[Any] = []
    for name, parts in files.samples().items():
        if "document" not in name and "pages" not in name and "MB" not in name:
            messages += [*ask(*parts), {"role": "assistant", "content": name}]
    whole = chatmend.repair(messages, target, dialect="openai_chat").messages
    for end in range(1, len(messages), 14):
        part_of = chatmend.repair(messages[:end], target, dialect="openai_chat").messages
        assert part_of == whole[: len(part_of)]


@pytest.mark.parametrize(
    ("target", "item"),
    [
        (GEMINI, {"text": "Keep this.", "fileData": {"fileUri": "gs://bucket/sums.xyz"}}),
        (GEMINI, {"text": "Keep this.", "fileData": {"fileUri": {"type": "text"}}}),
        (GEMINI, {"text": "Keep this.", "inlineData": {"mimeType": "application/zip", "data": "UEsDBAo="}}),
        (GPT, {"type": "file", "text": "Keep this.", "file": {"file_data": "data:application/zip;base64,UEsDBAo="}}),
        (NOVA, {"type": "file", "text": "Keep this.", "file": {"file_id": "file-abc"}}),
    ],
)  # fmt: skip
def test_a_text_in_the_same_part_as_a_file_is_kept(target: str, item: dict[str, Any]) -> None:
    key = "content" if "type" in item else "parts"
    done = repaired([{"role": "user", key: [item]}], target)
    assert "Keep this." in "".join(part["text"] for part in done.messages[0][key])


@pytest.mark.parametrize("label", ["text/csv", "text/markdown", "application/json", None])
def test_a_document_given_as_text_is_plain_text_for_claude(label: str | None) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "a,b"}
    plain = {"type": "document", "source": source, "title": "a.csv"}
    becomes, codes = only(CLAUDE, {**plain, "source": {**source, "media_type": label}})
    assert (becomes, codes) == (plain, ["DOC008"])
    becomes, codes = only(CLAUDE, plain)
    assert (becomes, codes) == (plain, [])


@pytest.mark.parametrize("target", ["vertex_ai/gemini-2.0-flash", "gemini/gemini-3-pro-preview"])
def test_gemini_gets_json_as_text(target: str) -> None:
    becomes, codes = only(target, files.file(b'{"a": 1}', "a.json", "application/json"))
    assert (becomes, codes) == ({"type": "text", "text": 'Document a.json:\n{"a": 1}'}, ["DOC005"])
    table = files.file(b"a,b", "a.csv", "text/csv")
    assert only(target, table) == (table, [])
    inline = {"inlineData": {"mimeType": "application/json", "data": "eyJhIjogMX0="}}
    messages = [{"role": "user", "parts": [{"text": "x"}, inline]}]
    done = chatmend.repair(messages, target)
    assert done.messages == [{"role": "user", "parts": [{"text": "x"}, {"text": '{"a": 1}'}]}]


def result_of(part: dict[str, Any]) -> list[Any]:
    function = {"name": "read", "arguments": "{}"}
    call = {"id": "call_1", "type": "function", "function": function}
    return [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": [part]},
    ]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "openai/gpt-5", "azure/gpt-4o"])
def test_a_pdf_in_a_tool_result_moves_to_the_user_for_openai(target: str) -> None:
    (item,) = files.samples()["pdf"]
    done = chatmend.repair(result_of(item), target)
    text, moved = done.messages[2]["content"], done.messages[3]
    assert [part["type"] for part in text] == ["text"]
    assert moved["role"] == "user"
    assert moved["content"][1] == item
    assert [change.code for change in done.changes] == ["IMG011"]


def test_an_image_in_a_tool_result_stays_for_openai() -> None:
    url = {"url": "https://example.com/a.png"}
    messages = result_of({"type": "image_url", "image_url": url})
    assert chatmend.repair(messages, "openai/gpt-5").messages is messages


def test_groq_gets_files_as_text() -> None:
    becomes, codes = only("groq/openai/gpt-oss-120b", files.file(b"a,b", "a.csv", "text/csv"))
    assert (becomes, codes) == ({"type": "text", "text": "Document a.csv:\na,b"}, ["DOC005"])
