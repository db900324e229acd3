// Recorded scenes of the lab have the theme of the page that shows them.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const frames = document.querySelectorAll("iframe.lab-scene");
  const send = (frame) => frame.contentWindow.postMessage({ theme: document.documentElement.dataset.theme }, "*");
  for (const frame of frames) frame.addEventListener("load", () => send(frame));
  if (!frames.length) return;
  const observer = new MutationObserver(() => frames.forEach(send));
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  frames.forEach(send);
});
