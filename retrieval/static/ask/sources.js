// The panel of sources: what an answer cites, and what else was found.
"use strict";

let shown = null; // the turn whose sources are listed

function showSources(turn) {
  shown = turn;
  const cited = [...turn.numbers.keys()];
  const others = [...turn.sources.keys()].filter((id) => !turn.numbers.has(id));
  byId("sources").replaceChildren(...cited.map((id) => sourceItem(turn, id)));
  byId("uncited").replaceChildren(...others.map((id) => sourceItem(turn, id)));
  byId("more").hidden = others.length === 0;
  byId("more").querySelector("summary").textContent = titleOfOthers(turn, others.length, cited.length > 0);
  if (turn.hasFailed) byId("more").open = true;
  byId("no-sources").hidden = turn.sources.size > 0;
  byId("no-sources").textContent = messageWithoutSources(turn);
  markCutQuotes();
}

function titleOfOthers(turn, count, isCited) {
  if (isCited) return `${count} more found, not cited`;
  return turn.answer ? `${count} found, which do not answer it` : `${count} found`;
}

function messageWithoutSources(turn) {
  if (turn.hasFailed) return "There is no answer yet.";
  return turn.answer ? "Nothing was found for this question." : "Searching…";
}

function sourceItem(turn, id) {
  const source = turn.sources.get(id);
  const item = element("li", "source");
  item.dataset.id = id;
  const name = item.appendChild(element("div", "name"));
  if (turn.numbers.has(id)) name.append(turn.chip(id));
  const link = name.appendChild(element("a", "", source.title || source.source_uri));
  link.dir = "auto";
  link.href = turn.place(id).url;
  link.target = "_blank";
  link.rel = "noopener";
  const where = whereIs(source);
  if (where) item.append(element("div", "place", where));
  const quotes = new Set((turn.citations.get(id) || []).map((citation) => citation.cited_text));
  item.append(quoteOf([...quotes].join("\n") || source.content.slice(0, 600), source.kind));
  return item;
}

/** Tables and lists are drawn as such; code is shown as it stands. */
function quoteOf(text, kind) {
  const quote = element("blockquote", kind === "code" ? "is-code" : "", kind === "code" ? text : "");
  quote.dir = "auto";
  if (kind !== "code") quote.append(renderAnswer(text, () => null));
  return quote;
}

/** Only what is cut off fades out; its link shows all of it. */
function markCutQuotes() {
  for (const quote of document.querySelectorAll(".source blockquote")) {
    quote.classList.toggle("is-cut", quote.scrollHeight > quote.clientHeight + 4);
  }
}
byId("more").addEventListener("toggle", markCutQuotes);

/** The headings above the passage, without a first one that repeats the title, and its page. */
function whereIs(source) {
  const headings = source.section ? source.section.split(" > ") : [];
  if (headings[0] === source.title) headings.shift();
  const page = source.page ? `page ${source.page}` : "";
  return [headings.join(" › "), page].filter(Boolean).join(" · ");
}

function highlight(id) {
  for (const item of document.querySelectorAll(".source")) {
    item.classList.toggle("is-current", item.dataset.id === id);
  }
}
