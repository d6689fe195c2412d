import { runner } from "./api.js";
import { h, notify, replace } from "./dom.js";
import { subscribe } from "./events.js";
import { KeyedTable } from "./table.js";
import { ago, isStateRun, stateSummary } from "./text.js";

const REFRESH_MS = 60_000;

/** All minions with accepted keys: which are connected, what they run, how their last states went. */
export function showMinions(area) {
  const tiles = h("div", { class: "tiles" });
  const search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter minions" });
  const table = new KeyedTable(COLUMNS, (row) => row.id, "Minions");
  search.addEventListener("input", () => table.filter((row) => matches(row, search.value)));
  replace(area, h("h1", {}, "Minions"), tiles, h("div", { class: "bar" }, search), table.element);

  const load = async () => {
    const found = await runner("manage.overview");
    table.set(Object.entries(found).map(([id, facts]) => ({ id, ...facts })));
    count(tiles, table);
  };
  const reload = () => load().catch((error) => notify(error.message));
  const timer = setInterval(reload, REFRESH_MS);
  const stop = subscribe(({ tag, data }) => {
    const row = table.get(data.id);
    if (/^salt\/job\/\d+\/ret\//.test(tag) && row) {
      hear(table, row, data);
      count(tiles, table);
    }
    if (/^salt\/minion\/.+\/start$/.test(tag) || tag === "salt/key" || tag === "salt/presence/change") reload();
  });
  reload();
  return () => { clearInterval(timer); stop(); };
}

const COLUMNS = [
  { title: "Minion", sort: (row) => row.id, cell: (row) => h("a", { href: `#/minion/${encodeURIComponent(row.id)}` }, row.id) },
  {
    title: "State", sort: (row) => (row.connected ? 1 : 0),
    cell: (row) => h("span", { class: row.connected ? "good" : "bad" }, row.connected ? "up" : "down"),
  },
  {
    title: "Heard of", wide: true, sort: (row) => row.last_heard ?? 0,
    cell: (row) => h("span", { class: "dim" }, ago(row.last_heard && new Date(row.last_heard * 1000))),
  },
  { title: "Version", wide: true, sort: (row) => row.version ?? "", cell: (row) => row.version ?? "" },
  { title: "System", wide: true, sort: (row) => row.os ?? "", cell: (row) => row.os ?? "" },
  { title: "Last states", sort: (row) => row.states?.jid ?? "", cell: statesCell },
];

function statesCell({ states }) {
  if (!states) return h("span", { class: "dim" }, "none on record");
  const parts = [`${states.total} states`];
  if (states.changed) parts.push(`${states.changed} changed`);
  if (states.failed) parts.push(`${states.failed} failed`);
  const words = states.success ? "good" : "bad";
  return h("a", { class: words, href: `#/job/${states.jid}`, title: states.fun }, parts.join(", "));
}

/** A return shows that a minion lives, and that of a state run how it went. */
function hear(table, row, { fun, jid, return: value, retcode, success }) {
  const fresh = { ...row, connected: true, last_heard: Date.now() / 1000 };
  if (isStateRun(value)) {
    const { total, changed, failed, wouldChange } = stateSummary(value);
    if (!wouldChange) fresh.states = { jid, fun, total, changed, failed, success: success !== false && !retcode };
  }
  table.update(fresh);
}

function matches(row, words) {
  const text = `${row.id} ${row.version ?? ""} ${row.os ?? ""} ${row.connected ? "up" : "down"}`.toLowerCase();
  return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function count(tiles, table) {
  const rows = [...table.rows.values()];
  const failed = rows.filter((row) => row.states && !row.states.success).length;
  replace(tiles,
    tile("up", rows.filter((row) => row.connected).length),
    tile("down", rows.filter((row) => !row.connected).length),
    tile("with failed states", failed));
}

function tile(title, number) {
  return h("div", { class: "tile" }, h("b", {}, String(number)), title);
}
