// The page: keeps what was pasted, asks chatmend, and shows the answer.

import { copy, copyButtons } from "./copying.js";
import { formatBytes, h, notify } from "./dom.js";
import { findingCards } from "./findings.js";
import { fromLink, linkTo } from "./permalink.js";
import { createPicker } from "./picker.js";
import { createRows } from "./rows.js";
import { errorPanel, usagePanel, verdict } from "./summaries.js";
import { connect } from "./transport.js";
import { transcriptView } from "./transcript.js";

const PAUSE = 250;
const SOURCE_PAGES = "https://github.com/chatmend/chatmend/blob/main/docs/rules/";
const LONGEST_LINK = 60_000;

const $ = (id) => document.getElementById(id);
const connecting = connect(showProgress); // Python and the editor load at the same time
connecting.catch(() => {}); // reported by start()
const editorModule = await import("./editor.js").catch(() => import("./plain_editor.js"));

let transport;
let large = null;
let asked = 0;
let waiting;
let chosenByHand = false;
let current = { answer: null, target: 0, tab: "findings" };

const editor = editorModule.createEditor($("editor"), {
  label: "Your request: messages, a request body, an error text, usage, a HAR file or a curl command",
  onChange: () => schedule(),
  onLarge: (text) => setText(text),
});
const picker = createPicker($("picker"), (targets) => {
  chosenByHand = targets.length > 0;
  rows.rescan();
  schedule(0);
});
const rows = createRows($("rows"), {
  scan: async (texts) => (await transport.ask({ ...question(), ask: "scan", texts, text: "" })).rows,
  onSelect() {
    if (large === null && rows.line) editor.reveal(rows.line);
    current.target = 0;
    schedule(0);
  },
});

function getText() {
  return large === null ? editor.get() : large.text;
}

/** Puts a text into the editor, or keeps it aside if it is too large for one. */
function setText(text, name = "The pasted text") {
  rows.clear();
  large = text.length > editorModule.LARGEST ? { text, name } : null;
  $("editor").hidden = large !== null;
  $("large").hidden = large === null;
  if (large === null) editor.set(text);
  else {
    editor.set("");
    $("large").replaceChildren(
      h("strong", {}, name),
      h("p", {}, `${formatBytes(new Blob([text]).size)}, kept in memory without an editor.`),
      h("pre", { tabindex: "0", role: "region", "aria-label": "Its beginning" }, `${text.slice(0, 400)} …`),
    );
  }
  schedule(0);
}

function clearAll() {
  chosenByHand = false;
  picker.set([], { quiet: true });
  $("error").value = "";
  current = { answer: null, target: 0, tab: "findings" };
  setText("");
  editor.focus();
}

function schedule(pause = PAUSE) {
  clearTimeout(waiting);
  waiting = setTimeout(inspect, pause);
}

/** Returns a question about the chosen row, or about the whole text if it is new. */
function question(extra = {}) {
  const whole = getText();
  const part = rows.isOf(whole) ? { text: rows.text } : { text: whole, row: rows.at };
  return {
    ask: "inspect",
    ...part,
    error: $("error").value,
    targets: chosenByHand ? picker.get() : [],
    ...extra,
  };
}

async function inspect() {
  if (!transport) return;
  const number = (asked += 1);
  const asking = question();
  if (isBlank(asking.text) && isBlank(asking.error)) {
    rows.clear();
    $("said").textContent = "Paste or drop messages, a request body, an error text, usage, a HAR file or a curl command.";
    picker.explain("Guessed from what you paste.");
    showExamples();
    return;
  }
  document.body.classList.add("busy");
  try {
    const whole = getText();
    const isRow = rows.isOf(whole);
    const answer = await transport.ask(asking);
    if (number !== asked) return;
    if (isRow) answer.said = `${rows.describe()} ${answer.said}`;
    else if (answer.rows) rows.set(answer.rows, whole);
    else rows.clear();
    show(answer);
  } catch (error) {
    if (number === asked) {
      $("said").textContent = `This could not be inspected: ${error.message}`;
      $("output").replaceChildren();
    }
  } finally {
    if (number === asked) document.body.classList.remove("busy");
  }
}

function isBlank(text) {
  return !/\S/.test(text);
}

function show(answer) {
  const onlyError = answer.kind === "nothing" && answer.error;
  $("said").textContent = onlyError ? "Only an error text so far." : answer.said;
  $("said").className = answer.kind === "unknown" ? "warn" : "";
  if (answer.guess) {
    picker.set([answer.guess.target], { quiet: true });
    picker.explain(`Chosen because ${answer.guess.why}. Add more to compare.`);
  } else if (chosenByHand) picker.explain("Add more to compare; at most six.");
  current = { ...current, answer, target: Math.min(current.target, (answer.targets?.length ?? 1) - 1) };
  draw();
}

function rulePage(name) {
  const pages = transport.settings.pages;
  return pages ? `${pages}${name}.html` : `${SOURCE_PAGES}${name}.md`;
}

function draw() {
  const { answer } = current;
  const output = $("output");
  const rules = answer.rules ?? answer.error?.rules ?? {};
  const hasTargets = Boolean(answer.targets?.length);
  const tools = { editor: editorModule, rulePage, goTo: hasTargets ? goTo : null, named: namedIn(answer) };
  const parts = [];
  if (answer.error) parts.push(errorPanel(answer.error, rules, tools));
  if (answer.error && !hasTargets && answer.kind !== "usage")
    parts.push(
      h("p", { class: "hint" }, "Paste the request as well to see which message causes it, and what chatmend would send."),
    );
  if (answer.usage) parts.push(usagePanel(answer.usage));
  if (hasTargets) parts.push(targetPanels(answer, rules, tools));
  if (answer.kind === "unknown" || !parts.length) parts.push(nothingFound(answer));
  output.replaceChildren(...parts);
}

function nothingFound(answer) {
  return h("div", { class: "panel" }, h("p", {}, answer.said), examplesList("Or try an example:"));
}

function namedIn(answer) {
  const error = answer.error;
  if (!error) return [];
  return [...error.positions, ...error.ids.flatMap(({ positions }) => positions)];
}

function targetPanels(answer, rules, tools) {
  const target = answer.targets[current.target];
  const isOne = answer.targets.length === 1;
  const readable = !target.fault && Array.isArray(target.before);
  const tabs = [
    ["findings", isOne && target.count ? `Findings (${target.count})` : "Findings"],
    ...(readable ? [["transcript", `Transcript (${target.messages.toLocaleString("en")})`]] : []),
    ...(target.fault ? [] : [["send", "What is sent"]]),
  ];
  if (!tabs.some(([name]) => name === current.tab)) current.tab = "findings";
  const host = h("div", {
    id: "panel",
    role: "tabpanel",
    "aria-labelledby": `tab-${current.tab}`,
    tabindex: "-1",
  });
  const bar = h("div", { role: "tablist", "aria-label": "Views", class: "tabs" });
  const select = (name, focus) => {
    current.tab = name;
    for (const tab of bar.children) {
      const isActive = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(isActive));
      tab.tabIndex = isActive ? 0 : -1;
      if (isActive && focus) tab.focus();
    }
    host.setAttribute("aria-labelledby", `tab-${name}`);
    fill(host, name, answer, rules, tools);
  };
  bar.append(
    ...tabs.map(([name, label]) =>
      h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => select(name) }, label),
    ),
  );
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = tabs.findIndex(([name]) => name === current.tab);
    select(tabs[(at + step + tabs.length) % tabs.length][0], true);
  });
  panel = { select };
  const element = h("div", {}, isOne ? headOf(target) : null, bar, host);
  select(current.tab);
  return element;
}

let panel;
let transcript;

function goTo(index) {
  panel.select("transcript");
  transcript?.goTo(index);
}

function fill(host, name, answer, rules, tools) {
  const target = answer.targets[current.target];
  transcript = undefined;
  if (name === "findings") host.replaceChildren(findingsOf(answer, rules, tools));
  else if (name === "transcript") {
    transcript = transcriptView(target, tools);
    host.replaceChildren(chooser(answer, "transcript"), transcript.element);
  } else host.replaceChildren(chooser(answer, "send"), sent(target));
}

function headOf(target) {
  return h(
    "section",
    { class: "panel head-panel", "aria-label": `Result for ${target.target}` },
    h("h3", {}, target.target),
    verdict(target, current.answer.error?.text),
    target.fault ? null : h("div", { class: "actions" }, copyButtons((what) => copyText(what, target)), linkButton()),
  );
}

function findingsOf(answer, rules, tools) {
  if (answer.targets.length === 1) {
    const [target] = answer.targets;
    if (target.fault || !target.count) return h("p", { class: "dim" }, target.fault ? "" : "No findings.");
    return findingCards(target, rules, tools);
  }
  return h(
    "div",
    { class: "columns" },
    ...answer.targets.map((target, at) =>
      h(
        "section",
        { class: "column", "aria-label": target.target },
        headOf(target),
        target.fault || !target.count
          ? null
          : findingCards(target, rules, {
              ...tools,
              goTo: (index) => {
                current.target = at;
                goTo(index);
              },
            }),
      ),
    ),
  );
}

/** Returns the choice between several targets, for the views that show only one. */
function chooser(answer, name) {
  if (answer.targets.length === 1) return "";
  return h(
    "label",
    { class: "chooser" },
    "Target ",
    h(
      "select",
      {
        onchange: (event) => {
          current.target = Number(event.target.value);
          panel.select(name);
        },
      },
      ...answer.targets.map((target, at) =>
        h("option", { value: at, selected: at === current.target, disabled: Boolean(target.fault) }, target.target),
      ),
    ),
  );
}

function sent(target) {
  const host = h("div", { class: "difference tall" });
  const said = h("p", { class: "dim" }, "Repairing …");
  copyText("body", target).then(
    (text) => {
      const isLarge = text.length > editorModule.LARGEST;
      said.textContent = isLarge
        ? `${formatBytes(text.length)}: too large to show; copy it instead.`
        : "The whole body that chatmend would send.";
      if (!isLarge) editorModule.showText(host, text, "The body that chatmend would send");
    },
    (error) => (said.textContent = error.message),
  );
  return h("div", {}, said, host);
}

async function copyText(what, target) {
  const answer = await transport.ask(question({ ask: "copy", what, targets: [target.target] }));
  return answer.copy;
}

function linkButton() {
  if (transport.settings.transport === "http") return null;
  return h(
    "button",
    {
      type: "button",
      onclick: async () => {
        try {
          const link = await linkTo(question({ ask: undefined }));
          if (link.length > LONGEST_LINK) notify("Too long for a link.");
          else {
            await copy(link);
            notify("Copied. The link contains everything you pasted.");
          }
        } catch (error) {
          notify(`Not copied: ${error.message}`);
        }
      },
    },
    "Link with this content",
  );
}

let examples = [];

function examplesList(title) {
  return h(
    "div",
    { class: "examples" },
    h("h3", {}, title),
    h(
      "ul",
      {},
      ...examples.map((example) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", onclick: () => open(example) },
            h("strong", {}, example.title),
            h("span", {}, example.what),
          ),
        ),
      ),
    ),
  );
}

function showExamples() {
  document.body.classList.remove("busy");
  $("output").replaceChildren(
    h(
      "div",
      { class: "empty" },
      h("p", { class: "lead" }, "Paste a request that a provider refused. You see what is wrong, where, and what chatmend would send."),
      examplesList("Six examples"),
    ),
  );
}

function open({ text = "", error = "", targets = [] }) {
  chosenByHand = targets.length > 0;
  picker.set(targets, { quiet: true });
  $("error").value = error;
  current = { ...current, target: 0, tab: "findings" };
  setText(typeof text === "string" ? text : JSON.stringify(text, null, 2), "The example");
}

async function openFile(file) {
  current = { ...current, target: 0, tab: "findings" };
  setText(await file.text(), file.name);
  notify(`Opened ${file.name}, ${formatBytes(file.size)}.`);
}

function listen() {
  $("error").addEventListener("input", () => schedule());
  $("clear").addEventListener("click", clearAll);
  $("file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) openFile(file);
    event.target.value = "";
  });
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  addEventListener(
    "drop",
    (event) => {
      document.body.classList.remove("dropping");
      const [file] = event.dataTransfer.files;
      if (!file) return;
      event.preventDefault();
      event.stopPropagation();
      openFile(file);
    },
    true,
  );
}

function showProgress(share, what) {
  const bar = $("progress");
  if (share === undefined) {
    bar.hidden = true;
    $("said").textContent = what;
    return;
  }
  bar.hidden = share >= 100;
  bar.setAttribute("aria-valuenow", String(Math.round(share)));
  bar.firstElementChild.style.width = `${share}%`;
  if (share < 100) $("said").textContent = what;
}

async function start() {
  listen();
  examples = await (await fetch("examples.json")).json();
  showExamples();
  transport = await connecting;
  const { settings } = transport;
  $("promise").textContent =
    settings.transport === "http"
      ? "Runs on this machine; nothing leaves it."
      : "Runs in this page; nothing leaves it.";
  if (settings.docs) $("docs").href = settings.docs;
  if (settings.targets) picker.offer(settings.targets);
  else transport.ask({ ask: "targets" }).then(({ targets }) => picker.offer(targets));
  const linked = await fromLink();
  if (linked) open(linked);
  else if (settings.document) {
    const text = await transport.document();
    if (!getText()) setText(text, settings.document);
  }
  await Promise.all([inspect(), transport.ready]);
  if (isBlank(getText()) && isBlank($("error").value)) inspect();
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  $("said").textContent = `The inspector could not start: ${error.message}`;
});

