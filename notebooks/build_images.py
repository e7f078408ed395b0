"""Writes ``images.ipynb`` and runs it, so that it has real outputs.

python notebooks/build_images.py
"""

from __future__ import annotations

import sys

from build_litellm import write

CELLS = (
    """md
# Images that providers accept and models can read

One refused image ends a session, because every turn sends it again. This notebook has four typical
images from transcripts, and four documents. It sends them to a provider, repairs them, and compares appearance, bytes,
tokens and legibility. The provider is a sandbox on this machine: no API keys, no internet.

**Result.** One broken image makes Anthropic refuse the whole session with status 400; after the repair it is
accepted, and each image is upright, on a visible background, and in the size that the model sees. Of a tall page,
OCR reads nearly all words in chatmend's tiles, and none in the page as the model would have seen it. Documents that
Claude refuses become text, or a text that says what they were.""",
    """
import base64, io, random
from collections import Counter
from PIL import Image, ImageDraw, ImageFont

WORDS = (
    "settings window server answer question report market table weather "
    "number water people morning garden letter figure"
).split()


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def screenshot(width, height, size=16):
    # Return a picture of columns of words, and the words.
    rng, image, face = (
        random.Random(7),
        Image.new("RGB", (width, height), "#f6f6f8"),
        ImageFont.load_default(size),
    )
    words = Counter()
    draw = ImageDraw.Draw(image)
    for left in range(20, width - 540, 580):
        draw.rectangle((left - 10, 20, left + 550, height - 20), fill="white", outline="#c8c8cd")
        for top in range(50, height - 60, 31):
            line = ""
            while draw.textlength(line, face) < 440:
                line += rng.choice(WORDS) + " "
            draw.text((left, top), line, "#1e1e22", face)
            words.update(line.split())
    return image, words


def photo(width, height):
    rng = random.Random(8)
    soft = Image.frombytes("RGB", (8, 6), rng.randbytes(144)).resize(
        (width, height), Image.Resampling.BICUBIC
    )
    grain = Image.frombytes(
        "L", (width // 2, height // 2), rng.randbytes(width * height // 4)
    ).resize((width, height))
    ImageDraw.Draw(soft).text(
        (width // 5, height // 3), "this side up", "white", ImageFont.load_default(height // 8)
    )
    return Image.blend(soft, Image.merge("RGB", [grain] * 3), 0.12)


exif = Image.Exif()
exif[0x0112] = 6  # the camera was rotated by 90 degrees
title = Image.new("RGBA", (2400, 1000), (0, 0, 0, 0))
ImageDraw.Draw(title).text(
    (120, 200), "white words on nothing", "white", ImageFont.load_default(180)
)
screen, _ = screenshot(3840, 2160)
files = {
    "4K screenshot": (saved(screen, "PNG"), "image/png"),
    "photo on its side": (
        saved(
            photo(4000, 3000).transpose(Image.Transpose.ROTATE_90), "JPEG", quality=92, exif=exif
        ),
        "image/jpeg",
    ),
    "transparent title": (saved(title, "PNG"), "image/png"),
    "PNG called JPEG, cut off": (saved(screen.crop((0, 0, 900, 500)), "PNG")[:9000], "image/jpeg"),
}""",
    """md
## Refused""",
    """
import httpx

from chatmend.sandbox import Sandbox

sandbox = Sandbox().start()
TARGET = "anthropic/claude-sonnet-4-5"


def messages_with(data, kind):
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    return [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": source},
            ],
        }
    ]


def post(messages):
    body = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages}
    answer = httpx.post(sandbox.url("anthropic/v1/messages"), json=body, timeout=60)
    return f"{answer.status_code} {answer.json().get('error', {}).get('message', 'accepted')[:110]}"


session = [
    turn
    for data, kind in files.values()
    for turn in [*messages_with(data, kind), {"role": "assistant", "content": "I see."}]
][:-1]
for name, (data, kind) in files.items():
    print(f"{name:26} {post(messages_with(data, kind))}")
print(f"{'all in one session':26} {post(session)}")""",
    """md
The provider accepts the first three, but the model may not see them correctly: the photo is not
rotated, and white text on a transparent background can become white on white. The fourth is
refused, and so is every later request of the session.

## Repaired

The report lists the change to each image. An image that cannot be decoded is replaced with a text
that describes it; the rest of its message is unchanged.""",
    """
import chatmend

done = chatmend.repair(session, TARGET)
for change in done.changes:
    print(f"{change.code} {change.rule:18} {change.effect.name:8} {change.why}")
print()
print(post(done.messages))
print(
    "a second repair returns the same list:",
    chatmend.repair(done.messages, TARGET).messages is done.messages,
)""",
    """md
Before (as the model would see it, without the EXIF rotation) and after:""",
    """
from IPython.display import Image as JupyterImage, display


def opened(data):
    return Image.open(io.BytesIO(data))


def side_by_side(*images, height=150):
    thumbs = []
    for image in images:
        thumb = image.convert("RGBA")
        thumb.thumbnail((height * 2, height))
        ground = Image.new("RGBA", thumb.size, "white")
        ground.alpha_composite(thumb)
        thumbs.append(ground.convert("RGB"))
    sheet = Image.new("RGB", (sum(thumb.width + 10 for thumb in thumbs), height), "#888888")
    left = 0
    for thumb in thumbs:
        sheet.paste(thumb, (left, 0))
        left += thumb.width + 10
    return JupyterImage(saved(sheet, "JPEG", quality=80))


def after(message):
    source = message["content"][1].get("source")
    return base64.b64decode(source["data"]) if source else None


for (name, (data, _)), message in zip(files.items(), done.messages[::2]):
    if becomes := after(message):
        print(name)
        display(side_by_side(opened(data), opened(becomes)))
    else:
        print(name, "->", message["content"][1]["text"])""",
    """md
## Bytes and tokens

The same files for other targets. Providers differ in limits, scaling and token counts. `unchanged`
means the same bytes.""",
    """
from chatmend.images import probe_image, tokens

TARGETS = [
    TARGET,
    "anthropic/claude-opus-4-8",
    "openai/gpt-4o",
    "gemini/gemini-2.5-flash",
    "mistral/mistral-medium-latest",
    "ollama/llava",
]


def size(data):
    return f"{len(data) / 1e6:.1f} MB" if len(data) > 1e6 else f"{len(data) / 1e3:.0f} KB"


rows = []
for name in list(files)[:3]:
    data = files[name][0]
    print(f"{name}: {size(data)}")
    for target in TARGETS:
        limits, becomes = chatmend.resolve(target).limits.images, chatmend.recompress(data, target)
        rows.append((name, target, len(data), len(becomes)))
        old, new = probe_image(data), probe_image(becomes)
        costs = tokens(limits, old.display_size), tokens(limits, new.display_size)
        cost = (
            ""
            if costs[0] is None
            else f"{costs[0]} tokens"
            if costs[0] == costs[1]
            else f"{costs[0]} -> {costs[1]} tokens"
        )
        print(
            f"    {target:32}",
            f"{'unchanged':28}"
            if becomes is data
            else f"{f'{new.name}, {new.width} x {new.height}, {size(becomes)}':28}",
            cost,
        )""",
    """
%matplotlib inline
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6))
for axis, name in zip(axes, list(files)[:3]):
    mine = [row for row in rows if row[0] == name]
    names = ["before", *(row[1].partition("/")[2][:18] for row in mine)]
    axis.barh(names[::-1], [value / 1e6 for value in [mine[0][2], *(row[3] for row in mine)]][::-1])
    axis.set_title(name, fontsize=9)
    axis.tick_params(labelsize=7)
    axis.set_xlabel("MB", fontsize=7)
figure.tight_layout()""",
    """md
## Legibility

The 16 px text of the 4K screenshot in four versions: the original; 2000 px wide, which stays valid
with any number of images; 1200 px wide, which several agents use; and JPEG of quality 60.
Legibility depends on the resolution, not on the codec.""",
    """
def cut(image, width=3840):
    scale = image.width / width
    return image.crop(tuple(int(edge * scale) for edge in (10, 40, 300, 130))).resize(
        (290, 90), Image.Resampling.BICUBIC
    )


kept = opened(chatmend.recompress(files["4K screenshot"][0], TARGET))
small = opened(saved(screen.resize((1200, 675), Image.Resampling.LANCZOS), "JPEG", quality=85))
rough = opened(saved(screen.resize((2000, 1125), Image.Resampling.BICUBIC), "JPEG", quality=60))
print("original | chatmend,", kept.size, "| 1200 px | JPEG of quality 60")
display(side_by_side(cut(screen), cut(kept), cut(small), cut(rough), height=90))""",
    """
import os, shutil, subprocess, tempfile


def read(image, right=0.16, bottom=0.4):
    part = image.crop((0, 0, int(image.width * right), int(image.height * bottom))).convert("L")
    part = part.resize((part.width * 2, part.height * 2), Image.Resampling.BICUBIC)
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        part.save(file.name)
        run = subprocess.run(
            ["tesseract", file.name, "-", "--psm", "11"],
            capture_output=True,
            text=True,
            env=os.environ | {"OMP_THREAD_LIMIT": "1"},
        )
    return Counter(word for word in run.stdout.lower().split() if word in WORDS)


if shutil.which("tesseract"):
    found = {
        "original": read(screen),
        "chatmend": read(kept),
        "1200 px": read(small),
        "quality 60": read(rough),
    }
    most = found["original"].total()
    print(
        "OCR, words found of those found in the original:",
        {
            name: f"{(words & found['original']).total() / most:.0%}"
            for name, words in found.items()
        },
    )
else:
    print("OCR: tesseract is not installed")""",
    """md
## Tall pages

A screenshot of a whole page of 600 x 4200 px with text of 12 px. Anthropic shows it to the model
at 224 x 1568: accepted, and unreadable. `chatmend` cuts it into tiles with captions; the report
lists the tokens before and after. `tall="scale"` scales it as a whole.""",
    """
page, page_words = screenshot(600, 4200, size=12)
limits = chatmend.resolve(TARGET).limits.images
tall = messages_with(saved(page, "PNG"), "image/png")
cut_up = chatmend.repair(tall, TARGET)
print(cut_up.changes[0].why)
tiles = [
    opened(base64.b64decode(part["source"]["data"]))
    for part in cut_up.messages[0]["content"]
    if part["type"] == "image"
]
print(cut_up.messages[0]["content"][3]["text"])
scaled = chatmend.repair(tall, TARGET, policy=chatmend.Policy(tall="scale"))
print(scaled.changes[0].why)""",
    """
from chatmend.images import seen_size


def as_seen(image):
    return image.resize(seen_size(limits, image.size), Image.Resampling.BICUBIC)


def left_top(image):  # the same words of the page, enlarged to the same size
    factor = image.width / page.width
    return image.crop((0, 0, int(300 * factor), int(150 * factor))).resize((300, 150))


print("as the model sees it: the whole page", as_seen(page).size, "| a tile", as_seen(tiles[0]).size)
display(side_by_side(left_top(as_seen(page)), left_top(as_seen(tiles[0]))))""",
    """
def share_read(images):
    found = sum((read(as_seen(image), 1, 1) for image in images), Counter())
    return (found & page_words).total() / page_words.total()


if shutil.which("tesseract"):
    print(
        "OCR of the page as the model sees it, words read:",
        f"whole {share_read([page]):.0%}, tiles {share_read(tiles):.0%}",
    )
else:
    print("OCR: tesseract is not installed; it would find nearly no word in the whole page,")
    print("and nearly all words in the tiles")""",
    """md
## Documents

A refused document ends a session as well. Claude accepts at most 100 pages of PDF in a request, no
encrypted PDF, and no other files. The sandbox refuses these as the provider does.""",
    """
import zipfile

from pypdf import PdfWriter


def pdf(pages, password=None):
    writer, out = PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(595, 842)
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(out)
    return out.getvalue()


def docx(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(
            "word/document.xml",
            '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
            f"<w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>",
        )
    return out.getvalue()


WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
documents = {
    "book.pdf": (pdf(120), "application/pdf"),
    "contract.pdf": (pdf(2, password="secret"), "application/pdf"),
    "minutes.docx": (docx("The meeting begins at nine."), WORD),
    "prices.csv": (b"name,price\\napple,2\\npear,3\\n", "text/csv"),
}


def with_document(title):
    data, kind = documents[title]
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    document = {"type": "document", "title": title, "source": source}
    return [
        {"role": "user", "content": [{"type": "text", "text": "Summarise this."}, document]}
    ]


for title in documents:
    print(f"{title:14} {post(with_document(title))}")""",
    """md
After the repair each is accepted. Text stays readable for the model; of the others it learns why
they are missing.""",
    """
for title in documents:
    repaired = chatmend.repair(with_document(title), TARGET)
    print(f"{title}: {post(repaired.messages)}")
    for change in repaired.changes:
        print(f"    {change.code} {change.effect.name}: {change.why}")
    part = repaired.messages[0]["content"][1]
    print("    model sees:", repr(part["text"] if part["type"] == "text" else part["source"])[:110])""",
    """md
`documents="split"` cuts a document that is too long instead, each part after a caption.""",
    """
policy = chatmend.Policy(documents="split")
split = chatmend.repair(with_document("book.pdf"), TARGET, policy=policy)
print(post(split.messages))
for part in split.messages[0]["content"][1:]:
    print(part.get("text") or f"({part['type']})")""",
    """md
## Coordinates

For computer use, `images="native"` scales an image to exactly the size that the model sees.
`image_notes=True` adds a note with the factor for coordinates.""",
    """
policy = chatmend.Policy(images="native", image_notes=True)
native = chatmend.repair(messages_with(*files["4K screenshot"]), TARGET, policy=policy)
print(probe_image(after(native.messages[0])).description)
print(native.messages[0]["content"][2]["text"])
sandbox.stop()""",
)


if __name__ == "__main__":
    sys.exit(write(CELLS, "images.ipynb"))
