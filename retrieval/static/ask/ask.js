// The page that asks: sends the conversation, shows the answer as it is written, and its sources.
"use strict";

const csrf = document.querySelector("[name=csrfmiddlewaretoken]")?.value; // none on a shared link
const maxBody = Number(document.body.dataset.maxBody || 0); // bytes of a request; 0: no limit here
const MODEL_FAILED = /^(language_model_|answer_timeout|cost_cap)/; // codes that the built-in writer never has
const conversation = []; // {role, content} of the turns so far
let underWay = null; // the AbortController of the answer being written
const hasKeyboard = matchMedia("(pointer: fine)").matches; // elsewhere the focus opens one on the screen

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = byId("question").value.trim();
  if (question && !underWay) ask(question);
});
byId("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("ask").requestSubmit();
  }
});
byId("stop").addEventListener("click", () => underWay && underWay.abort());
byId("new").addEventListener("click", () => {
  if (underWay) underWay.abort();
  const namespace = byId("namespace")?.value;
  location.assign(namespace ? `?namespace=${encodeURIComponent(namespace)}` : location.pathname);
});
byId("namespace")?.addEventListener("change", () => byId("new").click());

async function ask(question, options = {}) {
  byId("question").value = "";
  byId("empty")?.replaceWith(element("h1", "hidden", document.title.split(" · ")[0]));
  byId("new").hidden = false;
  const turn = new Turn(question);
  setBusy(new AbortController());
  try {
    const response = await post(document.body.dataset.answerUrl, {
      query: question,
      messages: recentTurns(),
      ...options,
    });
    if (!response.ok) throw new Error(await messageOf(response));
    for await (const [name, data] of eventsOf(response)) turn.receive(name, data);
    turn.end();
  } catch (error) {
    turn.fail(error);
  } finally {
    setBusy(null);
    if (hasKeyboard) byId("question").focus({ preventScroll: true });
  }
}

function setBusy(controller) {
  underWay = controller;
  byId("send").disabled = Boolean(controller);
  byId("stop").hidden = !controller;
  // Screen readers read an answer once, when it is whole.
  byId("turns").setAttribute("aria-busy", String(Boolean(controller)));
}

/** The newest turns, as many as a request may hold. */
function recentTurns() {
  const turns = conversation.slice(-20);
  const size = () => new Blob([JSON.stringify(turns)]).size;
  while (maxBody && turns.length && size() > maxBody - 10_000) turns.shift();
  return turns;
}

function post(url, data) {
  const headers = { "Content-Type": "application/json" };
  if (csrf) headers["X-CSRFToken"] = csrf;
  const namespace = byId("namespace")?.value;
  return fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify(namespace ? { ...data, namespace } : data),
    signal: underWay?.signal,
  });
}

async function messageOf(response) {
  if (response.status === 401) return "You are signed out. Reload the page to sign in again.";
  if (response.status === 403) return "This page is too old. Reload it and ask again.";
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered with status ${response.status}.`;
  }
}

/** Yield [name, data] of each server-sent event. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pending += value;
    const blocks = pending.split("\n\n");
    pending = blocks.pop();
    for (const block of blocks) {
      const name = block.match(/^event: (.*)$/m);
      const data = block.match(/^data: (.*)$/m);
      if (name && data) yield [name[1], JSON.parse(data[1])];
    }
  }
}

/** One question and its answer. */
class Turn {
  constructor(question) {
    this.question = question;
    this.text = "";
    this.sources = new Map(); // by id, in the order found
    this.citations = new Map(); // by id: the exact places cited, in the order of their markers
    this.numbers = new Map(); // by id, in the order cited
    this.answer = null; // the final event
    this.article = byId("turns").appendChild(element("article", "turn"));
    const asked = this.article.appendChild(element("h2", "question", question));
    asked.dir = "auto";
    this.node = this.article.appendChild(element("div", "answer working"));
    this.node.dir = "auto";
    this.wait("Searching");
    this.article.scrollIntoView({ block: "start" });
    showSources(this);
  }

  wait(what) {
    this.node.classList.add("is-empty");
    this.node.textContent = what;
  }

  receive(name, data) {
    if (name === "sources") {
      this.queryId = data.query_id;
      for (const source of data.sources) this.sources.set(source.id, source);
      this.wait("Reading");
      showSources(this); // to read meanwhile, and if no answer follows
    } else if (name === "delta") {
      this.text += data.text;
      this.draw();
    } else if (name === "citation") {
      this.cite(data);
      this.draw();
    } else if (name === "answer") {
      this.answer = data;
      this.text = data.answer;
      for (const source of data.sources) this.sources.set(source.id, source);
      this.citations.clear();
      for (const citation of data.citations) this.cite(citation);
    } else if (name === "error") {
      throw Object.assign(new Error(data.error.message), { code: data.error.code });
    }
  }

  cite(citation) {
    if (!this.citations.has(citation.id)) this.citations.set(citation.id, []);
    this.citations.get(citation.id).push(citation);
  }

  draw() {
    const seen = new Map(); // markers of each id so far
    this.node.classList.remove("is-empty");
    this.node.replaceChildren(
      renderAnswer(this.text, (id) => {
        const nth = seen.get(id) || 0;
        seen.set(id, nth + 1);
        return this.chip(id, nth);
      }),
    );
    showSources(this);
  }

  end() {
    if (!this.answer) throw new Error("The connection broke before the answer was complete.");
    this.node.classList.remove("working");
    this.article.classList.toggle("is-unanswered", !this.answer.is_answered);
    this.draw();
    for (const message of new Set(this.answer.uncertainties.map((each) => each.message))) {
      this.node.append(element("p", "note", message));
    }
    this.node.append(this.tools());
    conversation.push({ role: "user", content: this.question });
    if (this.text) conversation.push({ role: "assistant", content: this.text.slice(0, 16000) });
  }

  fail(error) {
    this.node.classList.remove("working", "is-empty");
    if (!this.text) this.node.replaceChildren();
    const gone = error.name === "TypeError" ? "The server cannot be reached. Are you online?" : error.message;
    const message = error.name === "AbortError" ? "Stopped." : gone;
    const note = this.node.appendChild(element("p", "note error", message + " "));
    this.offer(note, "Ask again");
    // Visitors of a shared link choose no models.
    if (csrf && MODEL_FAILED.test(error.code)) {
      note.append(" · ");
      this.offer(note, "Answer with quotes instead", { model: "extractive" });
    }
    this.hasFailed = true;
    showSources(this);
  }

  offer(note, label, options) {
    const again = note.appendChild(element("button", "plain", label));
    again.type = "button";
    again.addEventListener("click", () => !underWay && ask(this.question, options));
  }

  numberOf(id) {
    if (!this.sources.has(id)) return 0;
    if (!this.numbers.has(id)) this.numbers.set(id, this.numbers.size + 1);
    return this.numbers.get(id);
  }

  place(id, nth = 0) {
    const cited = this.citations.get(id) || [];
    return cited[nth] || cited[0] || this.sources.get(id);
  }

  chip(id, nth = 0) {
    const number = this.numberOf(id);
    if (!number) return null;
    const source = this.sources.get(id);
    const link = element("a", "chip", String(number));
    link.href = this.place(id, nth).url;
    link.target = "_blank";
    link.rel = "noopener";
    link.title = `${source.title} – ${whereIs(source)}`;
    link.setAttribute("aria-label", `Source ${number}: ${source.title}`);
    for (const way of ["mouseenter", "focus"]) link.addEventListener(way, () => this.pointAt(id));
    return link;
  }

  /** Show the source beside the conversation, also that of an earlier answer. */
  pointAt(id) {
    if (shown !== this && !underWay) showSources(this);
    highlight(id);
  }

  tools() {
    const row = element("div", "tools");
    if (this.numbers.size) {
      const copy = row.appendChild(button("Copy with sources", "copy"));
      copy.addEventListener("click", () => this.copy(copy));
    }
    if (this.queryId && document.body.dataset.feedbackUrl) {
      for (const [label, useful] of [["Helpful", true], ["Not helpful", false]]) {
        const vote = row.appendChild(button(label, useful ? "up" : "down"));
        vote.setAttribute("aria-pressed", "false");
        vote.addEventListener("click", () => this.vote(row, vote, useful));
      }
    }
    return row;
  }

  async copy(copyButton) {
    const cited = [...this.numbers].map(([id, number]) => {
      const source = this.sources.get(id);
      return { number, title: source.title, place: whereIs(source), url: this.place(id).url };
    });
    try {
      await navigator.clipboard.writeText(withSources(this.text, (id) => this.numbers.get(id), cited));
      copyButton.textContent = "Copied";
    } catch {
      copyButton.textContent = "The browser does not allow copying";
    }
  }

  async vote(row, pressed, useful) {
    const chosen = [...this.numbers.keys()].map((id) => this.sources.get(id).chunk_id);
    const selected = useful ? chosen : [];
    if (!(await this.sendFeedback(row, { useful, selected_chunk_ids: selected }))) return;
    for (const each of row.querySelectorAll("[aria-pressed]")) {
      each.setAttribute("aria-pressed", String(each === pressed));
    }
    if (!row.nextElementSibling) row.after(this.commentForm(row, useful));
  }

  commentForm(row, useful) {
    const form = element("form", "comment");
    const input = form.appendChild(element("input", "field"));
    input.placeholder = "Anything to add? (optional)";
    input.setAttribute("aria-label", "Comment on this answer");
    input.maxLength = 2000;
    const send = form.appendChild(button("Send"));
    send.type = "submit";
    send.className = "button";
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const comment = input.value.trim();
      if (comment && (await this.sendFeedback(row, { useful, comment }))) {
        form.replaceChildren(element("span", "quiet", "Thank you."));
      }
    });
    return form;
  }

  async sendFeedback(row, feedback) {
    const response = await post(document.body.dataset.feedbackUrl, { query_id: this.queryId, ...feedback })
      .catch(() => null);
    row.querySelector(".failed")?.remove();
    if (response?.ok) return true;
    const message = response ? await messageOf(response) : "The server cannot be reached.";
    row.append(element("span", "failed", message));
    return false;
  }
}

function element(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

function button(label, icon = "") {
  const node = element("button", "", label);
  node.type = "button";
  if (icon) node.dataset.icon = icon;
  return node;
}
