// The library page: live progress, trying again, tags, deleting. Nothing is ever parsed as HTML
// but the library's own pages, whose texts the server has escaped.
"use strict";

const page = document.body.dataset;
const byId = (id) => document.getElementById(id);
const csrfToken = () => document.querySelector("[name=csrfmiddlewaretoken]").value;
const followed = new Map(); // job id → functions that hear of it
const uploads = [];
let stream = null; // the AbortController of the events under way

function make(tag, className, text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

function messageOf(status, body) {
  if (status === 401) return "You are signed out. Reload the page to sign in again.";
  if (status === 403 && !body?.error) return "This page is too old. Reload it and try again.";
  return body?.error?.message || `The server answered with status ${status}.`;
}

/** POST JSON; return {data} or {error}, a sentence. */
async function send(url, body) {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
      body: JSON.stringify({ ...body, namespace: page.namespace }),
    });
    const data = await response.json().catch(() => null);
    return response.ok ? { data } : { error: messageOf(response.status, data) };
  } catch {
    return { error: "The server cannot be reached. Are you online?" };
  }
}

// -- progress -----------------------------------------------------------------------

function followJobs(ids, hear) {
  for (const id of ids) followed.set(id, [...(followed.get(id) || []), hear]);
  listen();
}

/** One stream for all jobs; it is opened again when more are added. */
async function listen() {
  stream?.abort();
  if (!followed.size) return;
  const mine = (stream = new AbortController());
  try {
    for await (const [name, job] of jobEvents([...followed.keys()].slice(0, 500), mine.signal)) {
      if (name === "done") break;
      for (const hear of followed.get(job.id) || []) hear(job);
      if (name === "end") followed.delete(job.id);
    }
  } catch (error) {
    if (error.name === "AbortError") return;
  }
  if (stream !== mine) return;
  if (followed.size) setTimeout(() => stream === mine && listen(), 3000);
  else refresh();
}

async function* jobEvents(jobs, signal) {
  const response = await fetch(page.progressUrl, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify({ jobs, namespace: page.namespace }),
    signal,
  });
  if (!response.ok) throw new Error(`Status ${response.status}`);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (pending + value).split("\n\n");
    pending = blocks.pop();
    for (const block of blocks) {
      const name = block.match(/^event: (.*)$/m);
      const data = block.match(/^data: (.*)$/m);
      if (name && data) yield [name[1], JSON.parse(data[1])];
    }
  }
}

/** Show the list as it is now, without leaving what is being typed. */
async function refresh() {
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("documents");
  if (!fresh) return;
  const held = document.activeElement?.closest?.("#documents tr")?.dataset.document;
  const doing = document.activeElement?.dataset?.do;
  byId("documents").replaceWith(document.adoptNode(fresh));
  byId("documents").querySelector(`tr[data-document="${held}"] [data-do="${doing}"]`)?.focus();
  followRows();
}

function followRows() {
  for (const row of document.querySelectorAll("tr[data-job]")) {
    if (followed.has(row.dataset.job)) continue;
    const documentId = row.dataset.document;
    followJobs([row.dataset.job], (job) => showInRow(documentId, job));
  }
}

function showInRow(documentId, job) {
  const status = document.querySelector(`tr[data-document="${documentId}"] .status`);
  if (!status) return;
  const isOpen = ["queued", "running"].includes(job.state);
  const share = job.passages_total ? ` ${Math.round((100 * job.passages_done) / job.passages_total)} %` : "";
  const names = { queued: "queued", running: `processing${share}`, succeeded: "ready", failed: "failed", cancelled: "cancelled" };
  status.textContent = names[job.state] || job.state;
  status.className = `status ${isOpen ? "processing" : names[job.state] || ""}`;
}

// -- adding -------------------------------------------------------------------------

function uploadsChanged() {
  const list = byId("uploads");
  list.hidden = !uploads.length;
  const count = (state) => uploads.filter((each) => each.state === state).length;
  const open = uploads.length - count("ready") - count("failed");
  const failed = count("failed") ? `, ${count("failed")} failed` : "";
  byId("uploads-title").textContent = open ? `Adding ${open} of ${uploads.length}${failed}` : `${count("ready")} added${failed}`;
  byId("clear").hidden = open === uploads.length;
}

function fieldsOfAll() {
  return { tags: byId("new-tags").value.trim(), collection: byId("new-collection").value.trim() };
}

const uploadList = () => byId("uploads").querySelector("ol");

function setUpAdding() {
  const drop = byId("drop");
  byId("add").addEventListener("click", () => openAdding(byId("adding").hidden));
  if (location.hash === "#add") openAdding(true);
  byId("files").addEventListener("change", (event) => {
    for (const file of event.target.files) uploads.push(addFile(uploadList(), file, "", fieldsOfAll()));
    event.target.value = "";
    uploadsChanged();
  });
  byId("from-url").addEventListener("submit", (event) => {
    event.preventDefault();
    uploads.push(addAddress(uploadList(), byId("url").value.trim(), fieldsOfAll()));
    byId("url").value = "";
    uploadsChanged();
  });
  byId("clear").addEventListener("click", () => {
    for (const each of uploads.filter((one) => ["ready", "failed"].includes(one.state))) each.node.remove();
    uploads.splice(0, uploads.length, ...uploads.filter((each) => each.node.isConnected));
    uploadsChanged();
  });
  // Anywhere on the page: a file that misses its place must not replace the page.
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    openAdding(true);
    drop.classList.add("is-over");
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("is-over"));
  document.addEventListener("drop", async (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    drop.classList.remove("is-over");
    for await (const [file, path] of droppedFiles(event.dataTransfer)) {
      uploads.push(addFile(uploadList(), file, path, fieldsOfAll()));
    }
    uploadsChanged();
  });
}

function openAdding(isOpen) {
  byId("adding").hidden = !isOpen;
  byId("add").setAttribute("aria-expanded", String(isOpen));
}

// -- rows ---------------------------------------------------------------------------

function setUpRows() {
  byId("content").addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    const row = button?.closest("tr");
    if (row) actions[button.dataset.do](row, button);
  });
}

const actions = {
  async retry(row) {
    const answer = await act(row, "retry", {});
    if (!answer) return;
    row.querySelector(".failure")?.remove();
    showInRow(row.dataset.document, { state: "queued" });
    followJobs([answer.job_id], (job) => showInRow(row.dataset.document, job));
  },
  async delete(row) {
    byId("delete-name").textContent = row.querySelector(".title").textContent;
    if (await confirmed(byId("delete-dialog")) && (await act(row, "delete", {}))) await refresh();
  },
  async tags(row, button) {
    byId("tags-name").textContent = row.querySelector(".title").textContent;
    byId("tags-field").value = button.dataset.tags;
    if (!(await confirmed(byId("tags-dialog")))) return;
    const tags = byId("tags-field").value.split(",").map((tag) => tag.trim()).filter(Boolean);
    if (await act(row, "change", { tags })) await refresh();
  },
};

async function act(row, what, body) {
  const answer = await send(`${page.documentsUrl}${row.dataset.document}/${what}`, body);
  byId("message").hidden = !answer.error;
  byId("message").textContent = answer.error || "";
  return answer.error ? null : answer.data;
}

function confirmed(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true });
  });
}

if (byId("adding")) {
  setUpAdding();
  setUpRows();
  followRows();
  if (!document.querySelector("#documents table")) openAdding(true);
}
byId("namespace")?.addEventListener("change", (event) => event.target.form.submit());
