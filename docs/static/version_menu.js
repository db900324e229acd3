// The menu of versions. The list is a script, since a page opened from a file may not fetch anything.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href);
  const folder = decodeURIComponent(root.pathname.split("/").at(-2) || "");
  // A site that stands alone has no list; asking for it would log an error. docs/versions.py knows the same names.
  if (!/^(\d.*|dev|latest)$/.test(folder)) return;
  const page = location.pathname.slice(root.pathname.length).replace(/(^|\/)$/, "$1index.html");

  const link = (version) => {
    const same = version.pages.includes(page);
    const anchor = document.createElement("a");
    anchor.className = "dropdown-item";
    anchor.textContent = version.name + (version.preferred ? " (stable)" : "");
    anchor.href = new URL(version.url + (same ? page + location.hash : "index.html"), new URL("../", root)).href;
    if (version.url === `${folder}/`) anchor.setAttribute("aria-current", "true");
    const item = document.createElement("li");
    item.append(anchor);
    return item;
  };
  const list = document.createElement("script");
  list.src = new URL("../versions.js", root).href;
  list.addEventListener("load", () => {
    const versions = window.committeeVersions || [];
    if (!versions.some((version) => version.url !== `${folder}/`)) return;
    for (const menu of document.querySelectorAll(".version-menu")) {
      menu.querySelector("ul").replaceChildren(...versions.map(link));
      menu.querySelector(".version-shown").hidden = true;
      menu.querySelector("button").hidden = false;
    }
  });
  document.head.append(list);
});
