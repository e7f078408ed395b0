// Builds the static page of the inspector: node site.mjs OUT VERSION
//
// The front end is that of `chatmend inspect`. Python is started here, by the same Pyodide, and
// answers a few questions; the page continues from a copy of its memory. So in the browser nothing
// is imported or compiled before the first answer.

import { createHash } from "node:crypto";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

const [out, version] = process.argv.slice(2);
const here = fileURLToPath(new URL(".", import.meta.url));
const source = join(here, "../src");
const pyodide = join(here, "node_modules/pyodide");
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self' blob:",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
// Parts of chatmend that need frameworks or a network.
const LEFT_OUT = /^chatmend\/(cli|litellm|langchain|probe|inspect\/static)\/|__pycache__/;

async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

await rm(out, { recursive: true, force: true });
await mkdir(join(out, "pyodide"), { recursive: true });
await cp(join(source, "chatmend/inspect/static"), out, { recursive: true });
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"])
  await cp(join(pyodide, name), join(out, "pyodide", name));
await cp(join(pyodide, "python_stdlib.zip"), join(out, "pyodide/python_stdlib.zip"));
// The page installs no packages of Pyodide.
const lock = JSON.parse(await readFile(join(pyodide, "pyodide-lock.json"), "utf8"));
await writeFile(
  join(out, "pyodide/pyodide-lock.json"),
  JSON.stringify({ info: lock.info, packages: {} }),
);

const python = await loadPyodide({ _makeSnapshot: true, env: { PYTHONHASHSEED: "0" } });
const names = python.toPy({});
const run = (code) => python.runPython(code, { globals: names });
run(await readFile(join(here, "site/pack.py"), "utf8"));
const add = names.get("add");
for (const name of await filesBelow(source))
  if (/^chatmend\//.test(name) && !LEFT_OUT.test(name))
    add(name, new Uint8Array(await readFile(join(source, name))));
add("browser_bridge.py", new Uint8Array(await readFile(join(here, "site/browser_bridge.py"))));
const metadata = `Metadata-Version: 2.1\nName: chatmend\nVersion: ${version}\n`;
add(`chatmend-${version}.dist-info/METADATA`, new TextEncoder().encode(metadata));
add.destroy();
run("finish()");
await writeFile(join(out, "chatmend.zip"), python.FS.readFile("/chatmend.zip"));

run("import sys; sys.path.insert(0, '/chatmend.zip')");
run(await readFile(join(here, "site/warm_up.py"), "utf8"));
const targets = run("warm_up()");
names.destroy();
python.runPython("import gc; gc.collect()");
const memory = python.makeMemorySnapshot();
await writeFile(join(out, "memory.gz"), gzipSync(memory, { level: 9 }));
const worker = await readFile(join(here, "site/worker.js"), "utf8");
await writeFile(join(out, "worker.js"), worker.replace("@memory size@", memory.length));
const settings = { transport: "worker", pages: "../rules/", docs: "../index.html" };
await writeFile(
  join(out, "settings.json"),
  JSON.stringify({ ...settings, ...JSON.parse(targets) }),
);
const page = await readFile(join(out, "index.html"), "utf8");
await writeFile(
  join(out, "index.html"),
  page.replace(
    '<meta charset="utf-8">',
    `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
  ),
);

const files = (await filesBelow(out)).map((name) => name.replaceAll("\\", "/"));
const digest = createHash("sha256");
for (const name of files) digest.update(name).update(await readFile(join(out, name)));
const keeper = await readFile(join(here, "site/service_worker.js"), "utf8");
await writeFile(
  join(out, "service_worker.js"),
  keeper
    .replace('"@files@"', JSON.stringify(["./", ...files]))
    .replace("@version@", `chatmend-inspector-${digest.digest("hex").slice(0, 16)}`)
    .replace("@policy@", POLICY),
);
process.exit(0);
