// Elements from values. Nothing here takes HTML, so no text of a minion ever becomes markup.

/** Make an element: attributes whose name begins with "on" are listeners, `null` ones are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

/** Show a line at the lower edge for some seconds; an empty one hides it. */
export function notify(text) {
  const notice = document.getElementById("notice");
  notice.textContent = text;
  notice.hidden = !text;
  clearTimeout(notify.timer);
  if (text) notify.timer = setTimeout(() => { notice.hidden = true; }, 8000);
}

/** Run `work` with a button disabled; what goes wrong is shown, not thrown. */
export async function busy(button, work) {
  button.disabled = true;
  try {
    return await work();
  } catch (error) {
    notify(error.message);
  } finally {
    button.disabled = false;
  }
}

/** Ask before something that cannot be undone; resolves to whether it was confirmed. */
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("form", { method: "dialog" },
        h("p", {}, question),
        h("div", { class: "bar" },
          h("button", { value: "no", autofocus: true }, "Cancel"),
          h("button", { value: "yes", class: "risky" }, verb))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
