// Django's widget with two lists names an icon without a role, which screen readers pass over.
addEventListener("load", () => setTimeout(() => {
  for (const icon of document.querySelectorAll(".selector .help-tooltip[aria-label]")) {
    icon.setAttribute("role", "img");
  }
}));
