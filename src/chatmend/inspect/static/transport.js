// Asks chatmend: the local app over HTTP, or Pyodide in a worker.

const LONGEST_WAIT = 15_000;

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

/**
 * Waits until the service worker answers the requests of this page: it adds the policy to the
 * files of the worker, and keeps all files for use without a network.
 */
async function underControl() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  try {
    await workers.register("service_worker.js");
    if (workers.controller) return;
    await new Promise((resolve) => {
      workers.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, LONGEST_WAIT);
    });
  } catch {
    // Some browsers forbid service workers in private windows; the page works without one.
  }
}

async function overWorker(settings, onProgress) {
  onProgress(1, "Loading …");
  await underControl();
  const worker = new Worker("worker.js", { type: "module" });
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
