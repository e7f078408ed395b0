// Images as small pictures with size, bytes and tokens, before and after.

import { count, formatBytes, h } from "./dom.js";

const imagesIn = (messages) =>
  messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === "image"));

/** Notes for each image of a target what it becomes, if the number of images is unchanged. */
export function pairImages(target) {
  const before = imagesIn(target.before ?? []);
  const after = imagesIn(target.after ?? []);
  if (before.length !== after.length) return;
  before.forEach((image, at) => {
    if (image.text !== after[at].text) image.becomes = after[at];
  });
}

/** Returns an image, and what it becomes. */
export function pictureOf(image) {
  if (!image.becomes) return figure(image);
  return h(
    "div",
    { class: "pair" },
    figure(image),
    h("span", { "aria-label": "becomes" }, "→"),
    figure(image.becomes),
  );
}

/** Returns the images of the message at an index that the repair changes. */
export function changedImages(target, index) {
  pairImages(target);
  const message = target.before?.find((one) => one.index === index);
  return imagesIn(message ? [message] : []).filter(({ becomes }) => becomes);
}

function figure(one) {
  const facts = [one.text || formatBytes(one.bytes)];
  if (one.tokens !== null) facts.push(`about ${count(one.tokens, "token")}`);
  return h(
    "figure",
    { class: "part image" },
    one.picture
      ? h("img", { src: one.picture, alt: `Image: ${one.text}`, loading: "lazy" })
      : h("div", { class: "no-picture" }, one.fault ? `not readable: ${one.fault}` : "no preview"),
    h("figcaption", {}, facts.join(", ")),
  );
}
