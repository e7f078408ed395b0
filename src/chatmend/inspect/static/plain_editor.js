// What replaces editor.js if codemirror.js was not built (`make inspector`): no colours, no merge.

import { h } from "./dom.js";

export const LARGEST = 1_500_000;

export function createEditor(host, { label, onChange, onLarge }) {
  const area = h("textarea", { class: "plain", "aria-label": label, spellcheck: "false" });
  area.addEventListener("input", onChange);
  area.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length <= LARGEST) return;
    onLarge(text);
    event.preventDefault();
  });
  host.replaceChildren(area);
  return {
    get: () => area.value,
    set(text) {
      area.value = text;
      onChange();
    },
    focus: () => area.focus(),
    reveal() {},
  };
}

export function showDifference(host, before, after, what) {
  const pane = (text, label) =>
    h("pre", { tabindex: "0", role: "region", "aria-label": `${what}: ${label}` }, text || "—");
  host.replaceChildren(h("div", { class: "panes" }, pane(before, "before"), pane(after, "after")));
}

export function showText(host, text, label) {
  host.replaceChildren(h("pre", { tabindex: "0", role: "region", "aria-label": label }, text));
}
