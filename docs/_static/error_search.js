// The search of the error index: finds the rows whose text matches a pasted error message, as
// `chatmend explain` does, or that contain all words. Nothing is sent anywhere.

(() => {
  const host = document.getElementById("error-search");
  const table = document.querySelector("article table");
  if (!host || !table) return;

  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    words: row.textContent.toLowerCase(),
    pattern: compile(row.cells[1].textContent),
  }));

  function compile(text) {
    try {
      return new RegExp(text.replaceAll(".*", ".{0,500}"), "s");
    } catch {
      return null;
    }
  }

  /** Returns a text in lower case, without quotes and backslashes, with single spaces. */
  function normalise(text) {
    return text.replace(/['"`\\‘’“”]/g, "").toLowerCase().split(/\s+/).join(" ").trim();
  }

  const label = document.createElement("label");
  const input = document.createElement("textarea");
  const found = document.createElement("p");
  label.textContent = "Paste an error message, or type words of it";
  label.htmlFor = input.id = "error-text";
  input.rows = 3;
  input.spellcheck = false;
  found.setAttribute("role", "status");
  host.append(label, input, found);

  input.addEventListener("input", () => {
    const text = normalise(input.value.slice(0, 20000));
    const words = text.split(" ").filter(Boolean);
    const first = text && rows.find(({ pattern }) => pattern?.test(text));
    let count = 0;
    for (const one of rows) {
      const isFound = !text || one === first || words.every((word) => one.words.includes(word));
      one.row.hidden = !isFound;
      one.row.classList.toggle("first", Boolean(first) && one === first);
      count += isFound;
    }
    found.textContent = !text
      ? ""
      : count
        ? `${count} of ${rows.length} known messages`
        : "Not known. If it is about the messages, please report it.";
  });
})();
