// Loads a page again that shows something in progress; the server leaves this script out once it has
// ended. Never while the tab is hidden, nor while the user is typing.
"use strict";
const EVERY_MS = 4000;
let isDue = false;

function reload() {
  const isTyping = document.activeElement?.matches("input, select, textarea");
  if (isDue && !document.hidden && !isTyping) location.reload();
}

setTimeout(() => { isDue = true; reload(); }, EVERY_MS);
document.addEventListener("visibilitychange", reload);
document.addEventListener("focusout", () => setTimeout(reload));
