// Asks chatmend: the local app over HTTP, or Pyodide in a worker.

/** Returns an object with `settings` and the function `ask`. */
export async function connect(onProgress) {
  const settings = await (await fetch("settings.json")).json();
  return settings.transport === "worker" ? overWorker(settings, onProgress) : overHttp(settings);
}

function overHttp(settings) {
  return {
    settings,
    async ask(question) {
      const answer = await fetch("ask", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(question),
      });
      if (!answer.ok) throw new Error(await answer.text());
      return answer.json();
    },
    async document() {
      const answer = await fetch("document");
      if (!answer.ok) throw new Error(await answer.text());
      return answer.text();
    },
  };
}

/** Keeps all files for use without a network. It starts when the page no longer needs the network. */
function keepForOffline() {
  // Some browsers forbid service workers in private windows; the page works without one.
  navigator.serviceWorker?.register("service_worker.js").catch(() => {});
}

/**
 * Starts the worker. A worker from a blob has the Content-Security-Policy of the page, one from a
 * file has only that of its response, which static hosts do not set.
 */
function startWorker() {
  const script = `import ${JSON.stringify(new URL("worker.js", location.href).href)};`;
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  return new Worker(address, { type: "module" });
}

async function overWorker(settings, onProgress) {
  onProgress(1, "Loading …");
  const worker = startWorker();
  const waiting = new Map();
  let number = 0;
  let isReady;
  let isLost;
  const ready = new Promise((resolve, reject) => ([isReady, isLost] = [resolve, reject]));
  worker.onmessage = ({ data }) => {
    if (data.progress !== undefined) {
      onProgress(data.progress, data.what);
      if (data.progress === 100) isReady();
      return;
    }
    const [resolve, reject] = waiting.get(data.number) ?? [];
    waiting.delete(data.number);
    if (data.error !== undefined) reject?.(new Error(data.error));
    else resolve?.(data.answer);
  };
  worker.onerror = (event) => {
    const error = new Error(`chatmend could not be loaded: ${event.message ?? "unknown reason"}`);
    for (const [, reject] of waiting.values()) reject(error);
    waiting.clear();
    isLost(error);
    onProgress(undefined, error.message);
  };
  ready.then(keepForOffline, () => {});
  return {
    settings,
    ready,
    ask: (question) =>
      new Promise((resolve, reject) => {
        waiting.set((number += 1), [resolve, reject]);
        worker.postMessage({ number, question });
      }),
  };
}
