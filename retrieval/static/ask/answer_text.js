// Renders an answer's text as DOM nodes. Nothing from a document or a model is ever parsed as HTML.
"use strict";

const byId = (id) => document.getElementById(id);

const MARKER = /\[cite:([a-z0-9]+)\]/gi;
const PARTIAL_MARKER = /\[(?:c(?:i(?:t(?:e(?::[a-z0-9]*)?)?)?)?)?$/i;

/** Return a fragment with paragraphs, lists, tables and code; `chip(id)` makes a citation's node. */
function renderAnswer(text, chip) {
  const fragment = document.createDocumentFragment();
  let list = null;
  let table = null;
  let code = null;
  for (const line of text.replace(PARTIAL_MARKER, "").split("\n")) {
    if (/^\s*```/.test(line)) {
      code = code ? null : fragment.appendChild(document.createElement("pre"));
      continue;
    }
    if (code) {
      code.append(line + "\n");
      continue;
    }
    const item = line.match(/^\s*(?:([-*•])|(\d+)[.)])\s+(.*)$/);
    const cells = line.match(/^\s*\|(.*)\|\s*((?:\[cite:[a-z0-9]+\]\s*)*)$/i);
    if (!item) list = null;
    if (!cells) table = null;
    if (item) {
      const tag = item[1] ? "ul" : "ol";
      if (!list || list.localName !== tag) {
        list = fragment.appendChild(document.createElement(tag));
        if (item[2]) list.start = Number(item[2]);
      }
      appendInline(list.appendChild(document.createElement("li")), item[3], chip);
    } else if (cells) {
      if (/^[\s|:-]+$/.test(cells[1])) {
        if (table) makeHeader(table.rows[table.rows.length - 1]);
        continue;
      }
      table = table || fragment.appendChild(document.createElement("table"));
      appendRow(table, cells[1], cells[2], chip);
    } else if (line.trim()) {
      const paragraph = fragment.appendChild(document.createElement("p"));
      appendInline(paragraph, line.replace(/^#{1,6}\s+/, ""), chip);
    }
  }
  return fragment;
}

function appendRow(table, cells, markers, chip) {
  const row = table.insertRow();
  for (const cell of cells.split("|")) appendInline(row.insertCell(), cell.trim(), chip);
  if (markers) appendInline(row.lastElementChild, " " + markers, chip);
}

function makeHeader(row) {
  for (const cell of [...row.cells]) {
    const header = document.createElement("th");
    header.append(...cell.childNodes);
    cell.replaceWith(header);
  }
}

function appendInline(parent, text, chip) {
  for (const part of text.split(/(\[cite:[a-z0-9]+\]|\*\*[^*]+\*\*|`[^`]+`)/i)) {
    const marker = [...part.matchAll(MARKER)][0];
    if (marker && marker[0] === part) parent.append(chip(marker[1]) || "");
    else if (/^\*\*[^*]+\*\*$/.test(part)) appendWithin(parent, "strong", part.slice(2, -2));
    else if (/^`[^`]+`$/.test(part)) appendWithin(parent, "code", part.slice(1, -1));
    else parent.append(part);
  }
}

function appendWithin(parent, tag, text) {
  parent.appendChild(document.createElement(tag)).textContent = text;
}

/** Return the answer with [1], [2] for its markers, and the list of what they cite. */
function withSources(text, numberOf, sources) {
  const plain = text.replace(MARKER, (_, id) => (numberOf(id) ? `[${numberOf(id)}]` : ""));
  const lines = sources.map((s) => `[${s.number}] ${s.title}${s.place ? ", " + s.place : ""}\n    ${s.url}`);
  return lines.length ? `${plain.trim()}\n\nSources\n${lines.join("\n")}\n` : plain.trim() + "\n";
}
