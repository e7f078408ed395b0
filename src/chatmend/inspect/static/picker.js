// The picker of targets: a combobox with search, and a chip for each chosen target.

import { h, notify } from "./dom.js";

const MOST = 6;
const SHOWN = 60;

/** Creates the picker in an element; `onChange` gets the chosen targets. */
export function createPicker(host, onChange) {
  let choices = [];
  let chosen = [];
  let active = -1;

  const chips = h("ul", { class: "chips", "aria-label": "Chosen targets" });
  const input = h("input", {
    id: "target",
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": "target-list",
    "aria-autocomplete": "list",
    "aria-describedby": "target-help",
    placeholder: "search: anthropic, mistral, openrouter …",
  });
  const list = h("ul", {
    id: "target-list",
    role: "listbox",
    "aria-label": "Targets",
    hidden: true,
  });
  const why = h("p", { id: "target-help", class: "dim" }, "Guessed from what you paste.");
  host.append(
    h("label", { for: "target" }, "Target: who receives the request"),
    chips,
    h("div", { class: "combobox" }, input, list),
    why,
  );

  function matches() {
    const words = input.value.toLowerCase().split(/[\s/]+/).filter(Boolean);
    return choices
      .filter(({ target, host: at, maker }) =>
        words.every((word) => `${target} ${at} ${maker}`.toLowerCase().includes(word)),
      )
      .slice(0, SHOWN);
  }

  function open() {
    const found = matches();
    active = Math.min(active, found.length - 1);
    list.replaceChildren(
      ...found.map(({ target, maker }, at) =>
        h(
          "li",
          {
            id: `target-${at}`,
            role: "option",
            "aria-selected": String(at === active),
            onmousedown: (event) => {
              event.preventDefault();
              add(target);
            },
          },
          h("span", {}, target),
          maker ? h("small", {}, maker) : null,
        ),
      ),
    );
    if (!found.length && input.value.trim())
      list.append(
        h(
          "li",
          { id: "target-0", role: "option", "aria-selected": "false" },
          `Press Enter to use ${input.value.trim()}`,
        ),
      );
    list.hidden = list.childElementCount === 0;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (active >= 0) input.setAttribute("aria-activedescendant", `target-${active}`);
    else input.removeAttribute("aria-activedescendant");
    list.children[active]?.scrollIntoView?.({ block: "nearest" });
  }

  function close() {
    active = -1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function add(target) {
    input.value = "";
    close();
    if (chosen.length >= MOST) notify(`At most ${MOST} targets at once.`);
    else if (!chosen.includes(target)) set([...chosen, target]);
  }

  function set(targets, { quiet = false } = {}) {
    chosen = targets.slice(0, MOST);
    chips.replaceChildren(
      ...chosen.map((target) =>
        h(
          "li",
          {},
          target,
          h(
            "button",
            {
              type: "button",
              "aria-label": `Remove ${target}`,
              onclick: () => {
                set(chosen.filter((one) => one !== target));
                input.focus();
              },
            },
            "×",
          ),
        ),
      ),
    );
    if (!quiet) onChange(chosen);
  }

  input.addEventListener("input", () => {
    active = -1;
    open();
  });
  input.addEventListener("focus", open);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const found = matches();
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      active = found.length ? (active + step + found.length) % found.length : -1;
      open();
    } else if (event.key === "Enter") {
      const typed = input.value.trim();
      const exact = typed.includes("/") && active < 0;
      const target = exact ? typed : (found[Math.max(active, 0)]?.target ?? typed);
      if (target) add(target);
    } else if (event.key === "Escape") close();
    else if (event.key === "Backspace" && !input.value && chosen.length) set(chosen.slice(0, -1));
    else return;
    event.preventDefault();
  });

  return {
    set,
    get: () => chosen,
    explain: (text) => (why.textContent = text),
    offer: (targets) => (choices = targets),
  };
}
