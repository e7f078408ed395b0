// Keeps the inspector for use without a network, and adds its policy to every response, so that
// it also holds in the worker: requests may only go to this site.

const VERSION = "@version@";
const FILES = "@files@";
const POLICY = "@policy@";

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(VERSION)
      .then((cache) => cache.addAll(FILES))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter((name) => name.startsWith("chatmend-inspector-") && name !== VERSION)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await caches.open(VERSION);
  const found = (await cache.match(request, { ignoreSearch: true })) ?? (await fetch(request));
  const headers = new Headers(found.headers);
  headers.set("content-security-policy", POLICY);
  return new Response(found.body, { status: found.status, statusText: found.statusText, headers });
}
