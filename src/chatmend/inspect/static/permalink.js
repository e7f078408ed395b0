// Links that contain the pasted content, after `#`, which browsers do not send to servers.
// They are made only when asked for, because transcripts are private.

const PREFIX = "#c=";

/** Returns a link to this page with the content in it. */
export async function linkTo(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(bytes, new CompressionStream("deflate-raw"));
  let text = "";
  for (let at = 0; at < packed.length; at += 32768)
    text += String.fromCharCode(...packed.subarray(at, at + 32768));
  const code = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.href.split("#")[0]}${PREFIX}${code}`;
}

/** Returns the content in the address of the page; null without one. */
export async function fromLink() {
  if (!location.hash.startsWith(PREFIX)) return null;
  try {
    const text = atob(location.hash.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const plain = await through(bytes, new DecompressionStream("deflate-raw"));
    return JSON.parse(new TextDecoder().decode(plain));
  } catch {
    return null;
  }
}

async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}
