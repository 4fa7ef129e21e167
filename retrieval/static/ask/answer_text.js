// Renders an answer's text, and quotes of documents, as DOM nodes: the Markdown that documents and
// models write. Nothing from a document or a model is ever parsed as HTML, and no link leads outside.
"use strict";

const byId = (id) => document.getElementById(id);
const MARKER = /\[cite:([a-z0-9]+)\]/gi;
const PARTIAL_MARKER = /\[(?:c(?:i(?:t(?:e(?::[a-z0-9]*)?)?)?)?)?$/i;
const LINE_STARTS = [
  ["item", /^\s*(?:([-*•])|(\d+)[.)])\s+(.*)$/],
  ["cells", /^\s*\|(.*)\|\s*((?:\[cite:[a-z0-9]+\]\s*)*)$/i],
  ["heading", /^\s*#{1,6}\s+(.*?)\s*#*$/],
];
const INLINE = /(?<code>(`{1,3})[^`]+\2)|\*\*(?<strong>[^*]+)\*\*|!?\[(?<text>[^\]]*)\]\((?<address>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)(?:\)|$)/;
const TAGS = /<\/?(?:a|b|br|code|em|i|kbd|p|small|span|strong|sub|sup|u)(?:\s[^<>]*)?\/?>/gi;

/** Return a fragment with paragraphs, lists, tables and code; `chip(id)` makes a citation's node. */
function renderAnswer(text, chip) {
  const fragment = document.createDocumentFragment();
  for (const block of blocksOf(text.replace(PARTIAL_MARKER, ""))) {
    if (block.kind === "code") fragment.appendChild(document.createElement("pre")).textContent = block.lines.join("\n");
    else if (block.kind === "item") appendList(fragment, block, chip);
    else if (block.kind === "cells") appendTable(fragment, block.rows, chip);
    else {
      const paragraph = fragment.appendChild(document.createElement("p"));
      appendInline(block.kind === "heading" ? paragraph.appendChild(document.createElement("strong")) : paragraph, block.lines.join("\n"), chip);
    }
  }
  return fragment;
}

/** Lines that belong together: a wrapped sentence is one paragraph, neighbouring rows are one table. */
function blocksOf(text) {
  const blocks = [];
  let open = null; // the block that the next line may go on
  for (const raw of text.split("\n")) {
    if (/^\s*```/.test(raw)) {
      open = open?.kind === "code" ? null : { kind: "code", lines: [] };
      if (open) blocks.push(open);
      const rest = open ? "" : raw.replace(/^\s*```\s*/, ""); // markers after the fence
      if (rest) blocks.push({ kind: "text", lines: [rest] });
    } else if (open?.kind === "code") {
      open.lines.push(raw);
    } else {
      open = addLine(blocks, open, raw.replace(/^\s*(?:>\s?)+(?:\[![A-Z]+\]\s*)?/, ""));
    }
  }
  return blocks;
}

function addLine(blocks, open, line) {
  if (!line.trim()) return null;
  const [kind, match] = LINE_STARTS.map(([name, start]) => [name, line.match(start)]).find(([, found]) => found) || ["text", null];
  if (kind === "text" && open && ["text", "item"].includes(open.kind)) {
    open.lines.push(line.trim());
    return open;
  }
  if (kind === "cells" && open?.kind === "cells") {
    open.rows.push([match[1], match[2]]);
    return open;
  }
  const block = { kind, lines: [line.trim()] };
  if (kind === "item") Object.assign(block, { tag: match[1] ? "ul" : "ol", number: Number(match[2]), lines: [match[3]] });
  if (kind === "cells") block.rows = [[match[1], match[2]]];
  if (kind === "heading") block.lines = [match[1]];
  blocks.push(block);
  return kind === "heading" ? null : block;
}

function appendList(fragment, block, chip) {
  let list = fragment.lastElementChild;
  if (list?.localName !== block.tag) {
    list = fragment.appendChild(document.createElement(block.tag));
    if (block.number) list.start = block.number;
  }
  appendInline(list.appendChild(document.createElement("li")), block.lines.join("\n"), chip);
}

function appendTable(fragment, rows, chip) {
  const table = fragment.appendChild(document.createElement("table"));
  for (const [cells, markers] of rows) {
    if (/^[\s|:-]+$/.test(cells)) {
      if (table.rows.length) makeHeader(table.rows[table.rows.length - 1]);
      continue;
    }
    const row = table.insertRow();
    for (const cell of cells.split(/(?<!\\)\|/)) appendInline(row.insertCell(), cell.trim(), chip);
    if (markers) appendInline(row.lastElementChild, " " + markers, chip);
  }
}

function makeHeader(row) {
  for (const cell of [...row.cells]) {
    const header = document.createElement("th");
    header.append(...cell.childNodes);
    cell.replaceWith(header);
  }
}

function appendInline(parent, text, chip) {
  for (const part of text.split(/(\[cite:[a-z0-9]+\])/i)) {
    const marker = [...part.matchAll(MARKER)][0];
    if (marker) parent.append(chip(marker[1]) || "");
    else appendStyled(parent, part);
  }
}

/** Code, bold words, and the words of links: the document itself, one click away, has the rest. */
function appendStyled(parent, text) {
  let rest = text;
  for (let found = rest.match(INLINE); found; found = rest.match(INLINE)) {
    parent.append(plainWords(rest.slice(0, found.index)));
    const { code, strong, text: words, address } = found.groups;
    if (code) appendWithin(parent, "code", code.replace(/^`+|`+$/g, ""));
    else if (strong) appendWithin(parent, "strong", plainWords(strong));
    else parent.append(linkWords(plainWords(words), address));
    rest = rest.slice(found.index + found[0].length);
  }
  parent.append(plainWords(rest));
}

/** The words of a link, and the host of one that leads outside. */
function linkWords(words, address) {
  const host = address.match(/^https?:\/\/(?:www\.)?([^/?#:]+)/i)?.[1];
  return host && !words.includes(host) ? `${words} (${host})` : words;
}

/** Without tags that only dress text, without escapes and stray asterisks. */
function plainWords(text) {
  return text.replace(TAGS, "").replaceAll("**", "").replace(/\\([\\`*_{}[\]()#+\-.!|>~])/g, "$1");
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
