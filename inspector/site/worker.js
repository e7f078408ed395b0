// Runs chatmend in the browser: Pyodide in a worker, so that the page stays responsive.

const THUMBNAIL = 240;
const QUALITIES = [0.85, 0.7, 0.55];
const MOST_ROUNDS = 4;

const report = (progress, what) => self.postMessage({ progress, what });

const MEMORY_SIZE = Number("@memory size@");
const at = (name) => new URL(name, import.meta.url).href;

/** Starts Python from a copy of its memory in which chatmend was imported; see site.mjs. */
async function start() {
  report(5, "Loading Python …");
  const memory = new Uint8Array(MEMORY_SIZE);
  const filled = fill(memory, at("memory.gz"));
  const archive = fetch(at("chatmend.zip")).then((answer) => answer.arrayBuffer());
  const [{ loadPyodide }, { default: createModule }] = await Promise.all([
    import("./pyodide/pyodide.mjs"),
    import("./pyodide/pyodide.asm.mjs"),
  ]);
  const python = await loadPyodide({
    indexURL: at("pyodide/"),
    _loadSnapshot: memory,
    async createPyodideModule(settings) {
      const module = await createModule(settings);
      if (module.HEAP8.length < memory.length) module.growMemory(memory.length);
      await filled;
      return module;
    },
  });
  report(95, "Starting chatmend …");
  python.FS.writeFile("/chatmend.zip", new Uint8Array(await archive));
  const bridge = python.pyimport("browser_bridge");
  report(100, "Ready.");
  return bridge;
}

/** Fills the array while the compressed file arrives and WebAssembly is compiled. */
async function fill(memory, address) {
  const answer = await fetch(address);
  let position = 0;
  for await (const piece of pieces(answer.body.pipeThrough(new DecompressionStream("gzip")))) {
    memory.set(piece, position);
    position += piece.length;
    report(5 + Math.round((85 * position) / MEMORY_SIZE), "Loading Python …");
  }
}

async function* pieces(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

const starting = start();

let last = starting;

// One question after the other: while the browser encodes an image, Python waits for it.
self.onmessage = ({ data: { number, question } }) => {
  last = last.catch(() => {}).then(() => answer(number, question));
};

async function answer(number, question) {
  try {
    const bridge = await starting;
    self.postMessage({ number, answer: await ask(bridge, JSON.stringify(question)) });
  } catch (error) {
    self.postMessage({ number, error: lastLine(error) });
  }
}

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
