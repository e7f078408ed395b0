// What is said about an error text, a usage payload and each target.

import { count, h } from "./dom.js";

const SOURCES = {
  recorded: "recorded in a live response",
  code: "from the code of a validator",
  docs: "from the provider’s documentation",
  seen: "from public reports",
  inferred: "inferred from similar texts",
  mixed: "from several sources",
};

/** Returns the explanation of an error text. */
export function errorPanel(error, rules, tools) {
  const places = [
    ...error.ids.flatMap(({ id, positions }) => positions.map((index) => [index, `id ${id}`])),
    ...error.positions.map((index) => [index, "named by position"]),
  ];
  const unique = new Map(places.map(([index, why]) => [index, why]));
  return h(
    "section",
    { class: "panel error", "aria-label": "The error text" },
    h("h3", {}, "What the error means"),
    h("blockquote", {}, error.text.length > 1200 ? `${error.text.slice(0, 1200)} …` : error.text),
    error.known
      ? h(
          "p",
          { class: "dim" },
          `A known error text${error.by.length ? ` of ${error.by.join(", ")}` : ""}, ` +
            `${SOURCES[error.source] ?? ""}.`,
        )
      : h(
          "p",
          {},
          "chatmend does not know this text. If it is about the messages, the findings below may " +
            "still explain it.",
        ),
    ...error.codes.map((code) => ruleLine(code, rules[code], tools)),
    ...error.topics.map(({ title, cause, does }) =>
      h("p", {}, h("strong", {}, `${title}. `), `${cause} What chatmend does: ${does}`),
    ),
    unique.size && tools.goTo
      ? h(
          "p",
          {},
          "It names ",
          ...[...unique].slice(0, 12).flatMap(([index, why]) => [
            h(
              "button",
              { type: "button", class: "position", onclick: () => tools.goTo(index) },
              `messages[${index}]`,
            ),
            ` (${why}) `,
          ]),
        )
      : null,
  );
}

function ruleLine(code, rule, tools) {
  return h(
    "p",
    {},
    h("a", { href: tools.rulePage(rule.name), target: "_blank", rel: "noopener", class: "code" }, code),
    ` ${rule.summary}`,
  );
}

/** Returns the verdict on one target: refused or not, and what chatmend changes. */
export function verdict(target, errorText = "") {
  if (target.fault)
    return h(
      "div",
      { class: "verdict fault" },
      h("p", {}, h("strong", {}, "Not inspected. "), target.fault),
    );
  const lines = [];
  if (target.refused)
    lines.push(
      h(
        "p",
        { class: "refused" },
        h("strong", {}, `✗ Refused as it is: status ${target.refused.status}`),
        errorText.includes(target.refused.text)
          ? ", with this error text."
          : h("code", {}, target.refused.text.slice(0, 600)),
      ),
    );
  if (target.count === 0)
    lines.push(
      h("p", { class: "fine" }, h("strong", {}, "✓ Nothing to repair: "), "sent unchanged."),
    );
  else lines.push(h("p", {}, h("strong", {}, "chatmend: "), target.summary));
  if (target.judged && !target.refused_after && target.count > 0)
    lines.push(h("p", { class: "fine" }, h("strong", {}, "✓ Accepted after the repair")));
  if (target.refused_after)
    lines.push(
      h(
        "p",
        { class: "refused" },
        h("strong", {}, `✗ Still refused: status ${target.refused_after.status}`),
        h("code", {}, target.refused_after.text.slice(0, 600)),
      ),
    );
  if (target.judged)
    lines.push(
      h(
        "p",
        { class: "dim small" },
        target.judged === "messages"
          ? "Judged by chatmend’s local copy of the provider’s rules, as the messages of a valid request."
          : "Judged by chatmend’s local copy of the provider’s rules.",
      ),
    );
  if (target.unjudged) lines.push(h("p", { class: "dim small" }, `No verdict of the provider: ${target.unjudged}`));
  if (!target.host)
    lines.push(
      h(
        "p",
        { class: "warn" },
        target.suggestion
          ? `No table for this host; did you mean ${target.suggestion}?`
          : "No table for this host: only what every server demands is repaired.",
      ),
    );
  return h("div", { class: "verdict" }, lines);
}

const FIELDS = [
  ["input_tokens", "input tokens, with cache"],
  ["cache_read_tokens", "of these read from the cache"],
  ["cache_write_tokens", "of these written to the cache"],
  ["output_tokens", "output tokens, with reasoning"],
  ["reasoning_tokens", "of these reasoning"],
  ["total_tokens", "total"],
  ["cost", "cost"],
];

/** Returns the normalised usage records. */
export function usagePanel(usages) {
  return h(
    "section",
    { class: "panel", "aria-label": "Usage" },
    h("h3", {}, "Usage, normalised"),
    ...usages.map((usage) =>
      h(
        "table",
        { class: "usage" },
        h("caption", {}, [usage.provider, usage.model].filter(Boolean).join(", ") || "usage"),
        h(
          "tbody",
          {},
          ...FIELDS.filter(([name]) => usage[name] !== undefined).map(([name, label]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, label),
              h("td", {}, typeof usage[name] === "number" ? usage[name].toLocaleString("en") : usage[name]),
              h("td", { class: "dim" }, usage.sources?.[name] ?? ""),
            ),
          ),
          ...(usage.warnings ?? []).map((text) =>
            h("tr", {}, h("td", { colspan: "3", class: "warn" }, text)),
          ),
        ),
      ),
    ),
    h("p", { class: "dim" }, `${count(usages.length, "record")}; the last column is where each number was read.`),
  );
}
