// Builds elements. Texts are always text nodes, so pasted content is never read as HTML.

/**
 * Returns an element: h("p", { class: "note", onclick: f }, "text", child).
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Returns "1 message" or "2 messages". */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Returns a size in bytes for people, such as "1.4 MB". */
export function formatBytes(size) {
  if (size >= 1e6) return `${(size / 1e6).toFixed(1).replace(/\.0$/, "")} MB`;
  if (size >= 1e3) return `${(size / 1e3).toFixed(1).replace(/\.0$/, "")} KB`;
  return `${size} bytes`;
}

let fading;

/** Shows a short notice at the edge of the page and to screen readers. */
export function notify(text) {
  const notice = document.getElementById("notice");
  notice.textContent = text;
  notice.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => notice.classList.remove("shown"), 4000);
}
