// Adding documents: files dropped or chosen, or an address; each has a line of its own.
"use strict";

const AT_ONCE = 2; // files on their way at the same time
const STAGES = { waiting: "Waiting", extract: "Reading", split: "Cutting into passages", embed: "Indexing", store: "Storing", done: "Done" };

/** One line of the list: a file or an address, and what becomes of it. */
class Upload {
  constructor(list, name) {
    this.name = name;
    this.state = "waiting"; // waiting, sending, working, ready, failed
    this.node = list.appendChild(document.createElement("li"));
    this.node.append(make("span", "file", name));
    this.bar = this.node.appendChild(document.createElement("progress"));
    this.bar.max = 1;
    this.bar.value = 0;
    this.bar.setAttribute("aria-label", `Progress of ${name}`);
    this.again = this.node.appendChild(make("button", "button", "Try again"));
    this.again.type = "button";
    this.again.hidden = true;
    this.text = this.node.appendChild(make("span", "what", "Waiting"));
    this.jobs = new Map(); // of an archive there are many: id → {done, error}
  }

  show(state, text, share = null) {
    this.state = state;
    this.node.className = `is-${state}`;
    this.text.textContent = text;
    this.bar.hidden = state === "ready" || state === "failed";
    if (share === null) this.bar.removeAttribute("value");
    else this.bar.value = share;
    this.again.hidden = true;
    uploadsChanged();
  }

  fail(message, retry) {
    this.show("failed", message, 1);
    this.again.hidden = !retry;
    this.again.onclick = retry;
  }

  /** What the server answered: one result for each document. */
  took(results, follow) {
    const refused = results.filter((each) => each.status === "rejected");
    for (const each of results) if (each.job_id) this.jobs.set(each.job_id, { documentId: each.document_id });
    if (this.jobs.size) {
      this.show("working", "Waiting");
      follow([...this.jobs.keys()], (job) => this.progressed(job, refused));
    } else if (refused.length === results.length) {
      this.fail(refused[0].error.message);
    } else {
      this.show("ready", results.every((each) => each.duplicate) ? "This content is in the library already." : "Done", 1);
    }
  }

  progressed(job, refused) {
    const known = this.jobs.get(job.id);
    if (!known) return;
    Object.assign(known, { state: job.state, error: job.error });
    const all = [...this.jobs.values()];
    const open = all.filter((each) => !each.state || ["queued", "running"].includes(each.state));
    if (open.length) {
      const stage = STAGES[job.stage] || "Waiting";
      const many = all.length > 1 ? `${all.length - open.length} of ${all.length} documents` : "";
      const share = job.passages_total ? job.passages_done / job.passages_total : null;
      this.show("working", many || stage, many ? (all.length - open.length) / all.length : share);
      return;
    }
    const failed = all.filter((each) => each.state !== "succeeded");
    const sentences = [...failed, ...refused].map((each) => each.error?.message || "It was cancelled.");
    if (!sentences.length) this.show("ready", all.length > 1 ? `${all.length} documents are ready.` : "Ready: it can be asked now.", 1);
    else this.fail(all.length > 1 ? `${sentences.length} failed. ${sentences[0]}` : sentences[0], failed.length ? () => this.retry(failed) : null);
  }

  async retry(failed) {
    this.jobs.clear();
    this.show("working", "Waiting");
    for (const each of failed) {
      const answer = await send(`${page.documentsUrl}${each.documentId}/retry`, {});
      if (answer.error) return this.fail(answer.error);
      this.jobs.set(answer.data.job_id, { documentId: each.documentId });
    }
    followJobs([...this.jobs.keys()], (job) => this.progressed(job, []));
  }
}

const waiting = []; // functions that send one
let sending = 0;

function enqueue(start) {
  waiting.push(start);
  sendNext();
}

async function sendNext() {
  if (sending >= AT_ONCE || !waiting.length) return;
  sending += 1;
  try {
    await waiting.shift()();
  } finally {
    sending -= 1;
    sendNext();
  }
}

function addFile(list, file, path, fields) {
  const upload = new Upload(list, path || file.name);
  const start = () => sendFile(upload, file, path, fields);
  if (file.size > Number(page.maxBytes)) upload.fail("The file is larger than this library takes.");
  else if (!file.size) upload.fail("The file is empty.");
  else enqueue(start);
  return upload;
}

function sendFile(upload, file, path, fields) {
  const form = new FormData();
  form.append("file", file, file.name);
  form.append("namespace", page.namespace);
  if (path) form.append("source_uri", `upload:${path}`);
  if (fields.tags) form.append("tags", fields.tags);
  if (fields.collection) form.append("collection", fields.collection);
  const request = new XMLHttpRequest(); // fetch reports no progress of what is sent
  request.open("POST", page.uploadUrl);
  request.setRequestHeader("X-CSRFToken", csrfToken());
  request.responseType = "json";
  request.upload.onprogress = (event) => {
    if (event.lengthComputable) upload.show("sending", "Sending", event.loaded / event.total);
  };
  upload.show("sending", "Sending", 0);
  return new Promise((done) => {
    const again = () => enqueue(() => sendFile(upload, file, path, fields));
    request.onload = () => {
      if (request.status < 300 && request.response) upload.took(request.response.results, followJobs);
      else upload.fail(messageOf(request.status, request.response), isWorthAnotherTry(request.status) ? again : null);
      done();
    };
    request.onerror = () => {
      upload.fail("The server cannot be reached. Are you online?", again);
      done();
    };
    request.send(form);
  });
}

/** Not of a file that is refused for what it is. */
function isWorthAnotherTry(status) {
  return status >= 500 || [401, 403, 408, 429].includes(status);
}

function addAddress(list, address, fields) {
  const upload = new Upload(list, address);
  const start = async () => {
    upload.show("sending", "Fetching");
    const body = { url: address };
    if (fields.tags) body.tags = fields.tags.split(",").map((tag) => tag.trim()).filter(Boolean);
    if (fields.collection) body.collection = fields.collection;
    const answer = await send(page.urlUrl, body);
    if (answer.error) upload.fail(answer.error, () => enqueue(start));
    else upload.took(answer.data.results, followJobs);
  };
  enqueue(start);
  return upload;
}

/** Yield [file, path] of everything dropped, folders included. */
async function* droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) for (const file of transfer.files) yield [file, ""];
  for (const entry of entries) yield* filesBelow(entry);
}

async function* filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((found, failed) => entry.file(found, failed));
    const path = entry.fullPath.replace(/^\//, "");
    yield [file, path.includes("/") ? path : ""];
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const batch = await new Promise((found, failed) => reader.readEntries(found, failed));
    if (!batch.length) return;
    for (const below of batch) yield* filesBelow(below);
  }
}
