// The document viewer: marks the passage on the page's picture, zooms, and switches on small screens.
"use strict";

const viewer = document.querySelector(".viewer.has-picture");
if (viewer) showPage();
if (!viewer) document.getElementById("passage")?.scrollIntoView({ block: "center" });
else if (matchMedia("(min-width: 1001px)").matches) showPassageBesidePicture();

function showPage() {
  const paper = viewer.querySelector(".paper");
  const picture = paper.querySelector("img");
  const note = document.getElementById("picture-note");
  viewer.classList.add("has-script");
  chooseView("picture");
  for (const tab of viewer.querySelectorAll(".tabs button")) {
    tab.addEventListener("click", () => chooseView(tab.dataset.view));
  }
  for (const button of viewer.querySelectorAll(".zoom button")) {
    button.addEventListener("click", () => zoom(paper, picture, Number(button.dataset.by)));
  }
  picture.addEventListener("error", () => pictureFailed(paper, note, picture.currentSrc || picture.src));
  if (picture.complete && !picture.naturalWidth) pictureFailed(paper, note, picture.src);
  if (paper.dataset.marks) markPassage(paper, picture, note);
}

/** The text scrolls inside its own column, so that page and passage are seen together. */
function showPassageBesidePicture() {
  const words = viewer.querySelector(".words");
  const passage = document.getElementById("passage");
  if (passage) words.scrollTop += passage.getBoundingClientRect().top - words.getBoundingClientRect().top - words.clientHeight / 3;
  // Without its fragment the browser does not scroll the whole page to #passage.
  history.replaceState(null, "", location.pathname + location.search);
  addEventListener("load", () => scrollTo(0, 0));
}

function chooseView(name) {
  viewer.dataset.view = name;
  for (const tab of viewer.querySelectorAll(".tabs button")) {
    tab.setAttribute("aria-pressed", String(tab.dataset.view === name));
  }
  if (name === "words") document.getElementById("passage")?.scrollIntoView({ block: "center" });
}

async function pictureFailed(paper, note, address) {
  let message = "This page cannot be shown as a picture. Its text is here all the same.";
  try {
    const response = await fetch(address);
    if (!response.ok) message = (await response.json()).error.message;
  } catch {
    message = "The server cannot be reached. Are you online?";
  }
  paper.closest(".frame").hidden = true;
  viewer.querySelector(".zoom").hidden = true;
  say(note, message);
  chooseView("words");
}

async function markPassage(paper, picture, note) {
  const response = await fetch(paper.dataset.marks).catch(() => null);
  if (!response?.ok) return;
  const { marks } = await response.json();
  if (!marks.length) {
    say(note, "The passage could not be found on this page's picture. It is highlighted in the text.");
    return;
  }
  for (const [left, top, right, bottom] of marks) {
    const spot = paper.appendChild(document.createElement("span"));
    spot.className = bottom - top > 0.06 ? "spot area" : "spot";
    spot.style.left = `${left * 100}%`;
    spot.style.top = `${top * 100}%`;
    spot.style.width = `${(right - left) * 100}%`;
    spot.style.height = `${(bottom - top) * 100}%`;
  }
  if (picture.complete) showSpot(paper);
  else picture.addEventListener("load", () => showSpot(paper), { once: true });
}

/** Scroll inside the frame, never the page. */
function showSpot(paper) {
  const spot = paper.querySelector(".spot");
  if (!spot) return;
  const frame = paper.closest(".frame");
  frame.scrollTop = spot.offsetTop - frame.clientHeight / 3;
  frame.scrollLeft = spot.offsetLeft - 20;
}

function zoom(paper, picture, by) {
  const level = Math.min(Math.max(Number(paper.dataset.zoom || 0) + by, 0), 3);
  paper.dataset.zoom = String(level);
  if (level && picture.dataset.large) {
    picture.src = picture.dataset.large;
    delete picture.dataset.large;
  }
  showSpot(paper);
}

function say(note, message) {
  note.textContent = message;
  note.hidden = false;
}
