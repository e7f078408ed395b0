// Bundles CodeMirror for the inspector: the same versions give the same bytes.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? "../src/chatmend/inspect/static/codemirror.js";
const licence = await readFile(new URL("node_modules/codemirror/LICENSE", import.meta.url), "utf8");

await build({
  absWorkingDir: here,
  entryPoints: ["codemirror.js"],
  bundle: true,
  format: "esm",
  minify: true,
  legalComments: "none",
  banner: { js: `/*!\nCodeMirror 6 and Lezer, https://codemirror.net\n\n${licence.trim()}\n*/` },
  target: "es2022",
  outfile: target,
});
