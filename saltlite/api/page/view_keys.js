import { wheel } from "./api.js";
import { busy, confirmed, h, notify, replace } from "./dom.js";
import { subscribe } from "./events.js";
import { KeyedTable } from "./table.js";

const STATES = { minions_pre: "waiting", minions: "accepted", minions_rejected: "rejected", minions_denied: "denied" };
const ORDER = Object.keys(STATES);

/** All keys with their fingerprints; a new one appears by itself. */
export function showKeys(area) {
  const search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter keys" });
  let reload = () => {};
  const act = (button, fun, row) => busy(button, async () => {
    await wheel(fun, { match: row.id, ...included(fun, row.state) });
    await reload();
  });
  const table = new KeyedTable([
    { title: "State", sort: (row) => ORDER.indexOf(row.state), cell: (row) => h("span", { class: row.state === "minions" ? "good" : "warn" }, STATES[row.state]) },
    { title: "Minion", sort: (row) => row.id, cell: (row) => row.id },
    { title: "Fingerprint", wide: true, cell: (row) => h("span", { class: "mono" }, row.fingerprint) },
    { title: "", cell: (row) => actions(row, act) },
  ], (row) => `${row.state}/${row.id}`, "Keys");
  search.addEventListener("input", () => table.filter((row) => `${row.id} ${STATES[row.state]} ${row.fingerprint}`.includes(search.value)));
  replace(area, h("h1", {}, "Keys"),
    h("p", { class: "dim" }, "Compare a fingerprint with the one that salt-call --local key.finger prints on the minion, then accept it."),
    h("div", { class: "bar" }, search), table.element);
  reload = async () => table.set(rowsOf(await wheel("key.finger", { match: "*" })));
  const load = () => reload().catch((error) => notify(error.message));
  load();
  return subscribe(({ tag }) => { if (tag === "salt/key" || tag === "salt/auth") load(); });
}

function rowsOf(found) {
  return ORDER.flatMap((state) => Object.entries(found[state] ?? {})
    .map(([id, fingerprint]) => ({ state, id, fingerprint })));
}

/** Salt acts on waiting keys unless it is told to include others. */
function included(fun, state) {
  if (fun === "key.accept") return { include_rejected: state === "minions_rejected", include_denied: state === "minions_denied" };
  if (fun === "key.reject") return { include_accepted: state === "minions", include_denied: state === "minions_denied" };
  return {};
}

function actions(row, act) {
  const button = (title, fun, question) => h("button", {
    type: "button",
    class: question ? "risky" : null,
    "aria-label": `${title} ${row.id}`,
    onclick: async (event) => {
      const { currentTarget } = event;
      if (!question || await confirmed(question, title)) act(currentTarget, fun, row);
    },
  }, title);
  return h("div", { class: "bar" },
    row.state === "minions" ? null : button("Accept", "key.accept"),
    row.state === "minions_rejected" ? null : button("Reject", "key.reject", `Reject the key of ${row.id}? Its minion gets no jobs any more.`),
    button("Delete", "key.delete", `Delete the key of ${row.id}? Its minion has to be accepted anew.`));
}
