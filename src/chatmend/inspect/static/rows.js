// The conversations of a file with several: the choice of one, and which of them have findings.

import { count, h } from "./dom.js";

/** Rows that are examined without being asked for, at most: their number and their characters. */
const MOST_ROWS = 2_000;
const MOST_CHARACTERS = 20_000_000;
const BATCH_ROWS = 50;
const BATCH_CHARACTERS = 400_000;
const MOST_BUTTONS = 40;

/**
 * Creates the choice in an element. `scan` returns what `ask: "scan"` answers for texts;
 * `onSelect` is called after a row was chosen.
 */
export function createRows(host, { scan, onSelect }) {
  let rows = null;
  let run = 0;
  const number = h("input", { id: "row", type: "number", min: "1", "aria-describedby": "row-count" });
  const label = h("label", { for: "row" });
  const total = h("span", { id: "row-count" });
  const only = h("input", { type: "checkbox", id: "only-findings" });
  const status = h("p", { class: "dim", role: "status" });
  const found = h("div", { class: "found-rows", role: "group", "aria-label": "Rows with findings" });
  const more = h("button", { type: "button", class: "more", onclick: () => examine() });
  const button = (text, step) =>
    h("button", { type: "button", onclick: () => move(step) }, text);
  host.replaceChildren(
    h(
      "div",
      { class: "row-bar" },
      button("Previous", -1),
      label,
      number,
      total,
      button("Next", 1),
      h("label", { for: "only-findings" }, only, " only those with findings"),
    ),
    status,
    found,
    more,
  );
  number.addEventListener("change", () => select(Number(number.value) - 1));

  function select(index) {
    if (!rows || !Number.isFinite(index)) return;
    rows.at = Math.min(Math.max(Math.round(index), 0), rows.texts.length - 1);
    draw();
    onSelect();
  }

  function move(step) {
    let index = rows.at + step;
    if (only.checked) while (rows.texts[index] !== undefined && !rows.found.has(index)) index += step;
    if (rows.texts[index] !== undefined) select(index);
  }

  function draw() {
    number.value = String(rows.at + 1);
    for (const one of found.children) one.setAttribute("aria-current", String(one.value === number.value));
  }

  /** Examines further rows, in batches, so that other questions are answered in between. */
  async function examine() {
    const own = (run += 1);
    const { texts } = rows;
    const end = Math.min(rows.examined + MOST_ROWS, texts.length);
    let left = MOST_CHARACTERS;
    more.hidden = true;
    while (rows.examined < end && left > 0) {
      const batch = nextBatch(texts, rows.examined, end);
      left -= batch.reduce((size, text) => size + text.length, 0);
      const answers = await scan(batch).catch(() => null);
      if (own !== run) return;
      if (answers === null) break;
      answers.forEach((answer, at) => note(rows.examined + at, answer));
      rows.examined += batch.length;
      report();
    }
    report(true);
  }

  function note(index, answer) {
    if (!answer.count && !answer.fault && answer.kind !== "unknown") return;
    rows.found.set(index, answer);
    if (rows.found.size > MOST_BUTTONS) return;
    const why = answer.codes?.join(", ") || answer.fault || "not recognised";
    found.append(
      h(
        "button",
        {
          type: "button",
          value: index + 1,
          title: why,
          "aria-label": `${rows.what} ${index + 1}: ${why}`,
          "aria-current": String(index === rows.at),
          onclick: () => select(index),
        },
        String(index + 1),
      ),
    );
  }

  function report(isEnd = false) {
    const all = rows.examined === rows.texts.length;
    const which = all ? count(rows.examined, rows.what) : `the first ${count(rows.examined, rows.what)}`;
    const unlisted = rows.found.size - found.childElementCount;
    const rest = unlisted > 0 ? ` The first ${MOST_BUTTONS}:` : "";
    const with_ = `${rows.found.size.toLocaleString("en")} of ${which} ${rows.found.size === 1 ? "has" : "have"} findings.`;
    status.textContent = isEnd ? `${with_}${rest}` : `${with_} Examining …`;
    more.hidden = !isEnd || all;
    more.textContent = "Examine more";
  }

  return {
    /** Shows the rows of an answer to a question about the whole text. */
    set(data, whole) {
      const lines = data.what === "line" ? linesOf(whole) : null;
      const texts = data.texts ?? lines.map(({ text }) => text);
      rows = { what: data.what, at: data.at, texts, lines, whole, examined: 0, found: new Map() };
      host.hidden = texts.length < 2;
      label.textContent = rows.what[0].toUpperCase() + rows.what.slice(1);
      number.max = String(texts.length);
      total.textContent = `of ${texts.length.toLocaleString("en")}`;
      this.rescan();
    },
    clear() {
      rows = null;
      run += 1;
      host.hidden = true;
    },
    /** Examines all rows again, after a change of the target. */
    rescan() {
      if (!rows) return;
      [rows.examined, rows.found] = [0, new Map()];
      found.replaceChildren();
      draw();
      if (!host.hidden) examine();
    },
    isOf: (whole) => rows !== null && rows.whole === whole,
    get text() {
      return rows.texts[rows.at];
    },
    get at() {
      return rows?.at;
    },
    /** The number of the line in the whole text, if the rows are lines. */
    get line() {
      return rows?.lines?.[rows.at]?.number;
    },
    describe: () =>
      `${label.textContent} ${(rows.at + 1).toLocaleString("en")} of ${rows.texts.length.toLocaleString("en")}.`,
  };
}

function nextBatch(texts, start, end) {
  const batch = [];
  let size = 0;
  for (let at = start; at < end && batch.length < BATCH_ROWS; at += 1) {
    size += texts[at].length;
    if (batch.length && size > BATCH_CHARACTERS) break;
    batch.push(texts[at]);
  }
  return batch;
}

/** Splits JSON lines as rows.py does: blank lines are no rows. */
function linesOf(whole) {
  return whole
    .replace(/^\ufeff/, "")
    .split("\n")
    .map((text, at) => ({ text, number: at + 1 }))
    .filter(({ text }) => /[^ \t\r]/.test(text));
}
