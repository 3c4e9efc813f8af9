"use strict";
// The page is whole without this: it shows hints at once and at the keyboard, tells the addresses of any node, and copies.
const tip = document.getElementById("tip");

function show(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const right = x + 16 + box.width > innerWidth;
  const low = y + 16 + box.height > innerHeight;
  tip.style.left = `${Math.max(4, right ? x - box.width - 12 : x + 16)}px`;
  tip.style.top = `${Math.max(4, low ? y - box.height - 12 : y + 16)}px`;
}

function hide() {
  tip.hidden = true;
}

function light(rail, on) {
  for (const part of document.querySelectorAll(`.fabric [data-rail="${rail}"]`)) part.classList.toggle("lit", on);
}

for (const part of document.querySelectorAll("svg .tip")) {
  const title = part.querySelector(":scope > title");
  const text = title.textContent;
  const rail = part.closest("[data-rail]")?.dataset.rail;
  // The browser's own hint would cover this one.
  part.setAttribute("aria-label", text.replaceAll("\n", ", "));
  part.setAttribute("role", "img");
  title.remove();
  if (part.matches(".leaf, .pool")) part.setAttribute("tabindex", "0");
  if (part.matches(".nic")) part.setAttribute("tabindex", "-1");
  const begin = (x, y) => {
    show(text, x, y);
    if (rail !== undefined) light(rail, true);
  };
  const end = () => {
    hide();
    if (rail !== undefined) light(rail, false);
  };
  part.addEventListener("pointermove", (event) => begin(event.clientX, event.clientY));
  part.addEventListener("pointerleave", end);
  part.addEventListener("focus", () => {
    const box = part.getBoundingClientRect();
    if (part.matches(":focus-visible")) begin(box.right - 8, box.bottom - 8);
  });
  part.addEventListener("blur", end);
}
// One stop for Tab, whatever their number: from NIC to NIC it goes by the arrow keys.
const nics = [...document.querySelectorAll(".fabric .node")].map((node) => [...node.querySelectorAll(".nic")]);
nics[0]?.[0]?.setAttribute("tabindex", "0");
const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
  const held = document.activeElement;
  const node = nics.findIndex((column) => column.includes(held));
  const way = ways[event.key];
  if (node < 0 || way === undefined) return;
  event.preventDefault();
  const next = nics[node + way[0]]?.[nics[node].indexOf(held) + way[1]];
  if (next === undefined) return;
  held.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus({ focusVisible: true });
});

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const label = button.textContent;
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    button.textContent = (await copied(source)) ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => (button.textContent = label), 3000);
  });
}

async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    // A browser may refuse the clipboard; then the text is selected, and shown if it was folded.
    for (let part = source.closest("details"); part !== null; part = part.parentElement.closest("details")) part.open = true;
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

// Browsers print folded parts folded, unless the style sheet's rule for it is known to them.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not(.screen-only)")) part.open = true;
});

const data = document.getElementById("field-data");
if (data !== null) anyNode(JSON.parse(data.textContent));

function anyNode(field) {
  const drawing = document.getElementById("field");
  const mark = document.getElementById("field-mark");
  const input = document.getElementById("node-number");
  const output = document.getElementById("node-addresses");
  const last = field.blocks.at(-1);
  const count = last.first + last.nodes;

  function blockOf(node) {
    return field.blocks.findLast((block) => block.first <= node);
  }

  function nameOf(node) {
    const block = blockOf(node);
    return field.names[node] ?? `${block.pool} ${node - block.first}`;
  }

  const widest = Math.max(...field.rails.map((rail) => rail.name.length));

  function told(node) {
    const lines = field.rails.map((rail, index) => {
      const run = rail.runs.findLast((entry) => entry[0] <= node);
      const held = run !== undefined && node < run[0] + run[1];
      const address = held ? written(field.version, BigInt(run[2]) + BigInt(run[3]) * BigInt(node - run[0])) : "not planned here";
      return `rail ${String(index).padEnd(3)}${rail.name.padEnd(widest + 2)}${address}`;
    });
    return `Node ${nameOf(node)}\n${lines.join("\n")}`;
  }

  function place(node) {
    const block = blockOf(node);
    const within = node - block.first;
    mark.setAttribute("x", (within % field.across) * field.cell - 1);
    mark.setAttribute("y", block.top + 17 + Math.floor(within / field.across) * field.cell);
  }

  function keep(node) {
    input.value = node;
    output.textContent = told(node);
    place(node);
  }

  function at(event) {
    const box = drawing.getBoundingClientRect();
    const scale = drawing.viewBox.baseVal.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale) / field.cell);
    const y = (event.clientY - box.top) * scale;
    const block = field.blocks.findLast((entry) => entry.top + 18 <= y);
    if (block === undefined || column < 0 || column >= field.across) return undefined;
    const within = Math.floor((y - block.top - 18) / field.cell) * field.across + column;
    return within < block.nodes ? block.first + within : undefined;
  }

  drawing.addEventListener("pointermove", (event) => {
    const node = at(event);
    if (node === undefined) return hide();
    show(told(node), event.clientX, event.clientY);
    place(node);
  });
  drawing.addEventListener("pointerleave", () => {
    hide();
    place(Number(input.value));
  });
  drawing.addEventListener("click", (event) => {
    const node = at(event);
    if (node !== undefined) keep(node);
  });
  input.addEventListener("input", () => {
    const node = Math.trunc(Number(input.value));
    if (input.value !== "" && node >= 0 && node < count) keep(node);
  });
  document.getElementById("any-node").hidden = false;
  keep(0);
}

function written(version, value) {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 65535n).toString(16));
  // RFC 5952: the first longest run of two or more zero groups is left out.
  const runs = [...groups.join(":").matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)];
  if (runs.length === 0) return groups.join(":");
  const longest = runs.reduce((best, run) => (run[0].length > best[0].length ? run : best));
  const text = groups.join(":");
  const before = text.slice(0, longest.index).replace(/:$/, "");
  const after = text.slice(longest.index + longest[0].length).replace(/^:/, "");
  return `${before}::${after}`;
}
