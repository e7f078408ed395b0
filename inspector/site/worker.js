// Runs chatmend in the browser: Pyodide in a worker, so that the page stays responsive.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const THUMBNAIL = 240;
const QUALITIES = [0.85, 0.7, 0.55];
const MOST_ROUNDS = 4;

const report = (progress, what) => self.postMessage({ progress, what });

async function start() {
  report(5, "Loading Python …");
  const archive = fetch("chatmend.zip").then((answer) => answer.arrayBuffer());
  const python = await loadPyodide({ indexURL: new URL("pyodide/", self.location.href).href });
  report(65, "Loading chatmend …");
  python.FS.writeFile("/chatmend.zip", new Uint8Array(await archive));
  python.runPython("import sys; sys.path.insert(0, '/chatmend.zip')");
  report(75, "Starting chatmend …");
  const bridge = python.pyimport("browser_bridge");
  report(100, "Ready.");
  return bridge;
}

const starting = start();

self.onmessage = async ({ data: { number, question } }) => {
  try {
    const bridge = await starting;
    self.postMessage({ number, answer: await ask(bridge, JSON.stringify(question)) });
  } catch (error) {
    self.postMessage({ number, error: lastLine(error) });
  }
};

/** Asks until every image that the answer needs was encoded by the browser. */
async function ask(bridge, question) {
  let told = JSON.parse(bridge.ask(question));
  for (let round = 0; told.wanted && round < MOST_ROUNDS; round += 1) {
    for (const wanted of told.wanted) await encode(bridge, wanted);
    told = JSON.parse(bridge.ask(question));
  }
  return told.answer;
}

async function encode(bridge, wanted) {
  const proxy = bridge.image(wanted.key);
  const bytes = proxy.toJs();
  proxy.destroy();
  try {
    const bitmap = await createImageBitmap(new Blob([bytes]));
    const { blob, width, height } = wanted.size
      ? await fitted(bitmap, wanted)
      : await thumbnail(bitmap);
    bitmap.close();
    const encoded = new Uint8Array(await blob.arrayBuffer());
    bridge.put(wanted.key, encoded, blob.type.slice("image/".length), width, height, "");
  } catch (error) {
    bridge.put(wanted.key, new Uint8Array(), "", 0, 0, error.message);
  }
}

async function thumbnail(bitmap) {
  const scale = Math.min(1, THUMBNAIL / Math.max(bitmap.width, bitmap.height));
  return draw(bitmap, bitmap.width * scale, bitmap.height * scale, "image/jpeg", 0.8);
}

/** Encodes an image in the size of the plan, with less quality if it has too many bytes. */
async function fitted(bitmap, { size: [width, height], types, max_bytes: most }) {
  if (!types.includes("jpeg")) return draw(bitmap, width, height, `image/${types[0] ?? "png"}`, 1);
  let result;
  for (const quality of QUALITIES) {
    result = await draw(bitmap, width, height, "image/jpeg", quality);
    if (!most || result.blob.size <= most) return result;
  }
  throw new Error("larger than the limit in every quality");
}

async function draw(bitmap, width, height, type, quality) {
  const [w, h] = [Math.max(1, Math.round(width)), Math.max(1, Math.round(height))];
  const canvas = new OffscreenCanvas(w, h);
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  if (type === "image/jpeg") context.fillRect(0, 0, w, h);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, w, h);
  return { blob: await canvas.convertToBlob({ type, quality }), width: w, height: h };
}

function lastLine(error) {
  return String(error.message).trim().split("\n").at(-1);
}
