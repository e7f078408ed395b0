// The transcript: messages with roles and parts, lines from calls to results, and marks.

import { count, h } from "./dom.js";
import { pairImages, pictureOf } from "./images.js";

const STEP = 150;
const MOST_LANES = 5;

/** Returns the transcript of one target, with a switch between before and after. */
export function transcriptView(target, tools) {
  const host = h("div", { class: "transcript" });
  const hasAfter = target.after.length > 0;
  pairImages(target);
  let rows;
  const draw = (which) => {
    rows = messageList(target, which, tools);
    host.replaceChildren(rows.element);
  };
  const radio = (which, label) =>
    h(
      "label",
      {},
      h("input", {
        type: "radio",
        name: "which",
        value: which,
        checked: which === "before",
        onchange: () => draw(which),
      }),
      label,
    );
  draw("before");
  return {
    element: h(
      "div",
      {},
      hasAfter
        ? h(
            "fieldset",
            { class: "switch" },
            h("legend", { class: "hidden" }, "Which transcript"),
            radio("before", "As pasted"),
            radio("after", "As chatmend would send it"),
          )
        : h("p", { class: "dim" }, "chatmend would send these messages unchanged."),
      host,
    ),
    goTo(index) {
      if (host.querySelector(".after")) draw("before");
      rows.goTo(index);
    },
  };
}

function messageList(target, which, tools) {
  const messages = target[which];
  const total = which === "before" ? target.messages : target.messages_sent;
  const codes = which === "before" ? codesByIndex(target.findings) : new Map();
  const named = new Set(which === "before" ? tools.named : []);
  const lanes = lanesOf(messages);
  const list = h("ol", { class: `messages ${which}`, "aria-label": "Messages" });
  let shown = 0;
  const more = h("button", { type: "button", class: "more", onclick: () => show(STEP) });
  function show(number) {
    const next = messages.slice(shown, shown + number);
    for (const message of next) {
      list.append(row(message, codes, named, lanes));
      if (message.index + 1 === target.identical && (target.after.length || shown))
        list.append(prefixMark(target.identical));
    }
    shown += next.length;
    more.hidden = shown >= messages.length;
    more.textContent = `Show more of ${count(total, "message")}`;
  }
  show(STEP);
  const left =
    total > messages.length
      ? h("p", { class: "dim" }, `The first ${messages.length} of ${count(total, "message")}.`)
      : null;
  return {
    element: h("div", {}, list, more, left),
    goTo(index) {
      while (shown <= index && shown < messages.length) show(STEP);
      const found = list.querySelector(`[data-index="${index}"]`);
      if (!found) return;
      found.scrollIntoView({ block: "center" });
      found.focus({ preventScroll: true });
    },
  };
}

function codesByIndex(findings) {
  const found = new Map();
  for (const { code, index, where, causes_error: isCause } of findings) {
    if (index === null || where !== "messages") continue;
    const codes = found.get(index) ?? new Map();
    codes.set(code, isCause || codes.get(code));
    found.set(index, codes);
  }
  return found;
}

function prefixMark(identical) {
  return h(
    "li",
    { class: "prefix" },
    `Everything up to here (${count(identical, "message")}) stays byte-identical: ` +
      "provider caches stay warm.",
  );
}

function row(message, codes, named, lanes) {
  const own = codes.get(message.index) ?? new Map();
  const isNamed = named.has(message.index);
  const isNew = message.kept === false;
  return h(
    "li",
    {
      class: `message ${message.side}${own.size ? " found" : ""}${isNamed ? " named" : ""}${isNew ? " new" : ""}`,
      "data-index": message.index,
      tabindex: "-1",
    },
    h("div", { class: "lanes", "aria-hidden": "true" }, lanes.get(message.index) ?? []),
    h(
      "div",
      { class: "body" },
      h(
        "header",
        {},
        h("span", { class: "index" }, `[${message.index}]`),
        h("span", { class: "role" }, message.role),
        ...[...own].map(([code, isCause]) =>
          h("span", { class: `badge${isCause ? " strong" : ""}` }, isCause ? `${code}, causes the error` : code),
        ),
        isNamed ? h("span", { class: "badge strong" }, "named by the error") : null,
        isNew ? h("span", { class: "badge new" }, "written by chatmend") : null,
        message.signed ? h("span", { class: "badge calm" }, "signed thinking") : null,
        message.cached ? h("span", { class: "badge calm" }, "cache marker") : null,
      ),
      ...message.parts.map(part),
      message.parts.length ? null : h("p", { class: "dim" }, "(empty)"),
    ),
  );
}

function part(one) {
  if (one.kind === "image") return pictureOf(one);
  if (one.kind === "text") return h("p", { class: "text" }, one.text || "(empty text)");
  const heads = {
    call: `call ${one.name || "(no name)"} · ${one.id || "no id"}`,
    result: `result · ${one.id || "no id"}${one.exchange === null ? " · no call has this id" : ""}`,
    thinking: one.signed ? "thinking, signed" : "thinking",
    other: "other content",
  };
  return h(
    "div",
    { class: `part ${one.kind}${one.exchange === null ? " alone" : ""}` },
    h("div", { class: "part-head" }, heads[one.kind]),
    one.text ? h("pre", {}, one.text) : null,
  );
}

/** Returns for each message the segments of the lines from calls to results. */
function lanesOf(messages) {
  const spans = new Map();
  for (const { index, parts } of messages)
    for (const { kind, exchange } of parts) {
      if (kind === "call") spans.set(exchange, { start: index, end: null });
      else if (kind === "result" && exchange !== null && spans.has(exchange))
        spans.get(exchange).end = index;
    }
  const segments = new Map();
  const free = [];
  const add = (index, lane, shape) => {
    const held = segments.get(index) ?? [];
    held.push(h("span", { class: `lane lane-${lane} ${shape}` }));
    segments.set(index, held);
  };
  for (const { start, end } of spans.values()) {
    let lane = 0;
    while (lane < MOST_LANES && (free[lane] ?? -1) >= start) lane += 1;
    if (lane === MOST_LANES) continue;
    free[lane] = end ?? start;
    if (end === null) {
      add(start, lane, "open");
      continue;
    }
    add(start, lane, "start");
    for (let index = start + 1; index < end; index += 1) add(index, lane, "through");
    if (end > start) add(end, lane, "end");
  }
  return segments;
}
