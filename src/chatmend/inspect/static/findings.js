// Findings as cards: code, effect in words and colour, position, before and after, rule page.

import { h } from "./dom.js";
import { changedImages, pictureOf } from "./images.js";

const MEANINGS = {
  reshapes: "same content in another form",
  adds: "content inserted by chatmend",
  degrades: "content in a weaker form",
  drops: "content discarded",
};
const OPENED = 12;
const STEP = 100;

/**
 * Returns the cards of one target.
 *
 * `tools` holds `editor` (the module), `rulePage` (code to address) and `goTo` (index of a message).
 */
export function findingCards(target, rules, tools) {
  const list = h("ol", { class: "findings" });
  const findings = target.findings;
  let shown = 0;
  const more = h("button", { type: "button", class: "more", onclick: show });
  function show() {
    const next = findings.slice(shown, shown + STEP);
    list.append(
      ...next.map((finding, at) => h("li", {}, card(finding, rules, { ...tools, target }, shown + at < OPENED))),
    );
    shown += next.length;
    const left = findings.length - shown;
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(left, STEP)} more`;
  }
  show();
  const unsent =
    target.count > findings.length
      ? h(
          "p",
          { class: "dim" },
          `${(target.count - findings.length).toLocaleString("en")} more are not shown here; ` +
            "the command line lists all.",
        )
      : null;
  return h("div", {}, list, more, unsent);
}

function card(finding, rules, tools, isOpen) {
  const rule = rules[finding.code];
  const difference = h("div", { class: "difference" });
  const details = h(
    "details",
    { open: isOpen },
    h("summary", {}, "before and after"),
    difference,
  );
  drawWhenVisible(details, difference, () =>
    tools.editor.showDifference(
      difference,
      asText(finding.before),
      asText(finding.after),
      `${finding.code} at ${finding.position}`,
    ),
  );
  const classes = `card ${finding.effect}${finding.causes_error ? " cause" : ""}`;
  return h(
    "article",
    { class: classes, "aria-label": `${finding.code} at ${finding.position}` },
    h(
      "header",
      {},
      h("a", { href: tools.rulePage(rule.name), class: "code", target: "_blank", rel: "noopener" },
        finding.code),
      h("span", { class: "effect", title: MEANINGS[finding.effect] },
        finding.applied ? finding.effect : `would be: ${finding.effect}`),
      position(finding, tools),
      finding.causes_error ? h("span", { class: "badge" }, "causes this error") : null,
    ),
    h("p", { class: "why" }, h("strong", {}, rule.summary), ` ${sentence(finding.why)}`),
    h("p", { class: "deed" }, `chatmend: ${finding.deed}.`),
    ...(finding.code.startsWith("IMG")
      ? changedImages(tools.target, finding.index).map(pictureOf)
      : []),
    finding.invalidates_thinking
      ? h("p", { class: "warn" }, "Signed thinking after this position becomes invalid.")
      : null,
    finding.left ? null : details,
    manual(rule),
  );
}

function position(finding, tools) {
  if (finding.index === null || finding.where !== "messages")
    return h("span", { class: "position" }, finding.position);
  return h(
    "button",
    {
      type: "button",
      class: "position",
      title: "Show the message in the transcript",
      onclick: () => tools.goTo(finding.index),
    },
    finding.position,
  );
}

function manual(rule) {
  return h(
    "details",
    { class: "manual" },
    h("summary", {}, "what providers say, and why"),
    ...rule.manual
      .split("\n\n")
      .slice(1)
      .map((paragraph) => h("p", {}, paragraph.replaceAll("\n", " ").replaceAll("``", "“").trim())),
  );
}

function sentence(text) {
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}

function asText(values) {
  if (!values.length) return "";
  return JSON.stringify(values.length === 1 ? values[0] : values, null, 2);
}

const drawers = new WeakMap();
const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      drawers.get(target)?.();
    }
  },
  { rootMargin: "600px" },
);

/** Draws a difference when it comes near the visible part of the page, once. */
function drawWhenVisible(details, host, draw) {
  drawers.set(host, draw);
  if (details.open) observer.observe(host);
  else details.addEventListener("toggle", () => observer.observe(host), { once: true });
}
