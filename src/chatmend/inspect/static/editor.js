// The editor for the request, and the view of a change: CodeMirror in shadow roots.
//
// In a shadow root CodeMirror adds its styles as constructed style sheets, so the page needs no
// inline styles and its Content-Security-Policy can forbid them.

import {
  EditorState,
  EditorView,
  HighlightStyle,
  MergeView,
  basicSetup,
  json,
  placeholder,
  syntaxHighlighting,
  tags,
  unifiedMergeView,
} from "./codemirror.js";

/** Larger documents are kept as text, without an editor. */
export const LARGEST = 1_500_000;
const NARROW = 720;

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--code-key)" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.punctuation, color: "var(--dim)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "var(--panel)", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "var(--mono)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selection)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", color: "var(--dim)", border: "none" },
  ".cm-placeholder": { color: "var(--dim)" },
  ".cm-collapsedLines": {
    background: "var(--hover)",
    color: "var(--dim)",
    "&:before, &:after": { content: "'⋯'" },
  },
  ".cm-deletedChunk": { backgroundColor: "var(--removed)", color: "var(--text)" },
  ".cm-changedLine, &.cm-merge-b .cm-changedLine": { backgroundColor: "var(--added)" },
  "&.cm-merge-a .cm-changedLine": { backgroundColor: "var(--removed)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "var(--removed-word)",
  },
  "&.cm-merge-b .cm-changedText": { background: "var(--added-word)" },
});

const shared = [json(), look, syntaxHighlighting(colours), EditorView.lineWrapping];

function shadowOf(host) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  return root;
}

/** Creates the editor in an element. `onLarge` is called for a pasted text that is too large. */
export function createEditor(host, { label, onChange, onLarge }) {
  const root = shadowOf(host);
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      extensions: [
        basicSetup,
        ...shared,
        placeholder("Paste here, or drop a file anywhere."),
        EditorView.contentAttributes.of({
          "aria-label": label,
          "aria-multiline": "true",
          tabindex: "0",
        }),
        EditorView.theme({ "&": { height: "100%" } }),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
        EditorView.domEventHandlers({
          paste(event) {
            const text = event.clipboardData?.getData("text/plain") ?? "";
            if (text.length <= LARGEST) return false;
            onLarge(text);
            event.preventDefault();
            return true;
          },
        }),
      ],
    }),
  });
  return {
    view,
    get: () => view.state.doc.toString(),
    set(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    focus: () => view.focus(),
    reveal(number) {
      const { from } = view.state.doc.line(Math.min(number, view.state.doc.lines));
      const effects = EditorView.scrollIntoView(from, { y: "center" });
      view.dispatch({ selection: { anchor: from }, effects });
    },
  };
}

const readOnly = [...shared, EditorState.readOnly.of(true), EditorView.editable.of(false)];

function labelled(label) {
  return EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" });
}

/** Shows two JSON texts and their differences: side by side, or below each other if narrow. */
export function showDifference(host, before, after, what) {
  const root = shadowOf(host);
  if (before === "" || after === "") {
    const label = `${what}: ${before === "" ? "added" : "removed"}`;
    return new EditorView({
      root,
      parent: root,
      doc: before || after,
      extensions: [...readOnly, labelled(label)],
    });
  }
  const collapse = { margin: 2, minSize: 6 };
  if (host.clientWidth < NARROW) {
    return new EditorView({
      root,
      parent: root,
      doc: after,
      extensions: [
        ...readOnly,
        labelled(`${what}: changes`),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          gutter: false,
          collapseUnchanged: collapse,
        }),
      ],
    });
  }
  return new MergeView({
    root,
    parent: root,
    a: { doc: before, extensions: [...readOnly, labelled(`${what}: before`)] },
    b: { doc: after, extensions: [...readOnly, labelled(`${what}: after`)] },
    gutter: false,
    collapseUnchanged: collapse,
  });
}

/** Shows a JSON text that cannot be edited. */
export function showText(host, text, label) {
  const root = shadowOf(host);
  return new EditorView({
    root,
    parent: root,
    doc: text,
    extensions: [basicSetup, ...readOnly, labelled(label)],
  });
}
