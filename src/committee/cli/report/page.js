/* Tooltips of the charts, by pointer, touch and keyboard. The texts are the <title> elements of the marks, so that a
   browser without scripts shows them too; here they are taken out, and the one of the nearest mark is shown. */
(() => {
  "use strict";
  const REACH = 26;
  const marks = new Map();
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  let shown = null;

  const read = (svg) => {
    if (!marks.has(svg)) {
      const found = [...svg.querySelectorAll("title")].map((title) => {
        const element = title.parentNode;
        const text = title.textContent;
        title.remove();
        return { element, text, box: element.getBBox() };
      });
      marks.set(svg, found);
    }
    return marks.get(svg);
  };

  const hide = () => {
    if (shown) shown.element.classList.remove("on");
    shown = null;
    tip.hidden = true;
  };

  const show = (mark) => {
    if (shown !== mark) {
      hide();
      shown = mark;
      mark.element.classList.add("on");
      tip.textContent = mark.text;
    }
    tip.hidden = false;
    const at = mark.element.getBoundingClientRect();
    const own = tip.getBoundingClientRect();
    const left = at.left + at.width / 2 - own.width / 2;
    tip.style.left = `${Math.max(4, Math.min(left, document.documentElement.clientWidth - own.width - 4))}px`;
    tip.style.top = `${at.top - own.height - 8 >= 0 ? at.top - own.height - 8 : at.bottom + 8}px`;
  };

  const nearest = (svg, event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null;
    let least = REACH * REACH;
    for (const mark of read(svg)) {
      const dx = Math.max(mark.box.x - point.x, 0, point.x - mark.box.x - mark.box.width);
      const dy = Math.max(mark.box.y - point.y, 0, point.y - mark.box.y - mark.box.height);
      const distance = dx * dx + dy * dy;
      if (distance < least) {
        best = mark;
        least = distance;
      }
    }
    return best;
  };

  const follow = (event) => {
    const mark = nearest(event.currentTarget, event);
    if (mark) show(mark);
    else hide();
  };

  const step = (event) => {
    const all = read(event.currentTarget);
    const now = all.indexOf(shown);
    const next = {
      ArrowRight: now + 1,
      ArrowDown: now + 1,
      ArrowLeft: now < 0 ? all.length - 1 : now - 1,
      ArrowUp: now < 0 ? all.length - 1 : now - 1,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (event.key === "Escape") hide();
    if (next === undefined) return;
    event.preventDefault();
    show(all[(next + all.length) % all.length]);
  };

  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.querySelector("title")) continue;
    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
    // Small charts in tables repeat numbers of their rows; only figures are stops of the keyboard.
    if (!svg.closest("figure")) continue;
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-label", `${svg.getAttribute("aria-label")} Arrow keys read the values.`);
    svg.addEventListener("keydown", step);
    svg.addEventListener("blur", hide);
  }
  document.addEventListener("pointerdown", (event) => event.target.closest("svg") || hide());
  addEventListener("scroll", hide, { passive: true });
  addEventListener("beforeprint", hide);
})();
