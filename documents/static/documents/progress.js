// Keeps the statuses of documents that are being indexed up to date.
"use strict";

const EVERY_MS = 2000;

function show(node, now) {
  node.querySelector(".badge").outerHTML = now.badge;  // made by the server, escaped
  node.querySelector(".why").textContent = now.text;
  const bar = node.querySelector("progress");
  bar.max = now.total || 1;
  bar.value = now.done;
  bar.hidden = !now.is_busy || !now.total;
}

function finish(node, now) {
  const row = node.closest("tr");
  // The page of one document shows more that has changed: text, versions, jobs.
  if (!row) return location.reload();
  row.querySelector(".doc-title").textContent = now.title;
  row.querySelector(".field-chunks").innerHTML = now.chunks;  // a number with its link
}

/** A hidden tab sends no requests. */
async function untilShown() {
  while (document.hidden) {
    await new Promise((shown) => document.addEventListener("visibilitychange", shown, { once: true }));
  }
}

async function follow(node) {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY_MS));
    await untilShown();
    try {
      const answer = await fetch(node.dataset.live, { credentials: "same-origin" });
      if (!answer.ok) return;  // deleted, or signed out
      const now = await answer.json();
      show(node, now);
      if (!now.is_busy) {
        finish(node, now);
        return;
      }
    } catch {
      // Offline: try again.
    }
  }
}

document.querySelectorAll("[data-live]").forEach(follow);
