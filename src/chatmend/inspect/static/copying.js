// The buttons that copy results.

import { h, notify } from "./dom.js";

const COPIES = [
  ["body", "Repaired body"],
  ["python", "Python"],
  ["command", "Command line"],
  ["report", "Redacted report", "For an issue: texts are replaced by their lengths"],
];

/** Returns the buttons; `ask` returns the text to copy. */
export function copyButtons(ask) {
  return h(
    "div",
    { class: "copies", role: "group", "aria-label": "Copy" },
    h("span", { "aria-hidden": "true" }, "Copy"),
    ...COPIES.map(([what, label, title]) =>
      h(
        "button",
        {
          type: "button",
          title,
          "aria-label": `Copy: ${label}`,
          onclick: async () => {
            try {
              await copy(await ask(what));
              notify(`Copied: ${label}.`);
            } catch (error) {
              notify(`Not copied: ${error.message}`);
            }
          },
        },
        label,
      ),
    ),
  );
}

/** Copies a text to the clipboard. */
export async function copy(text) {
  if (navigator.clipboard?.writeText) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Some browsers allow only the older way.
    }
  }
  const area = h("textarea", { class: "offscreen", "aria-hidden": "true", tabindex: "-1" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser does not allow it");
}
