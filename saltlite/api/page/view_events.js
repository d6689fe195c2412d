import { h, replace } from "./dom.js";
import { lastEvents, subscribe } from "./events.js";
import { longText } from "./text.js";

const SHOWN = 200;

/** What happens on the master's event bus, newest first. */
export function showEvents(area) {
  const filter = h("input", { type: "search", placeholder: "Tag begins with or contains", "aria-label": "Filter events by tag" });
  const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
  const list = h("div", { role: "log", "aria-label": "Events" });
  let paused = false;
  const accepts = ({ tag }) => tag.includes(filter.value.trim());
  const fill = () => replace(list, lastEvents().filter(accepts).slice(-SHOWN).reverse().map(line));
  filter.addEventListener("input", fill);
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (!paused) fill();
  });
  replace(area, h("h1", {}, "Events"), h("div", { class: "bar" }, filter, pause), list);
  fill();
  return subscribe((event) => {
    if (paused || !accepts(event)) return;
    list.prepend(line(event));
    while (list.childElementCount > SHOWN) list.lastElementChild.remove();
  });
}

function line(event) {
  const body = h("pre");
  return h("details", { ontoggle: () => { body.textContent = longText(event.data); } },
    h("summary", {}, h("span", { class: "dim mono" }, (event.data._stamp ?? "").slice(11, 19)), " ", h("span", { class: "mono" }, event.tag)), body);
}
