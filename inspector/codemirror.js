// The parts of CodeMirror that the inspector uses, as one module. `make inspector` bundles it.

export { basicSetup } from "codemirror";
export { json } from "@codemirror/lang-json";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { EditorState } from "@codemirror/state";
export { EditorView, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
