import { runner } from "./api.js";
import { h, notify, replace } from "./dom.js";
import { subscribe } from "./events.js";
import { KeyedTable } from "./table.js";
import { ago, jidTime } from "./text.js";

const SHOWN = 200;

/** The newest jobs; new ones and their returns appear by themselves. */
export function showJobs(area) {
  const search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter jobs" });
  const table = new KeyedTable(COLUMNS, (row) => row.jid, "Jobs");
  table.sortBy.down = true;
  search.addEventListener("input", () => table.filter((row) => `${row.jid} ${row.fun} ${row.tgt} ${row.user}`.includes(search.value)));
  replace(area, h("h1", {}, "Jobs"), h("div", { class: "bar" }, search), table.element);
  runner("jobs.list_jobs_filter", { count: SHOWN })
    .then((jobs) => table.set(jobs.map(rowOf)))
    .catch((error) => notify(error.message));
  return subscribe(({ tag, data }) => {
    const [, jid, kind] = /^salt\/job\/(\d+)\/(new|ret)/.exec(tag) ?? [];
    if (kind === "new" && data.fun !== "saltutil.find_job") {
      table.update({ jid, fun: text(data.fun), args: data.arg, tgt: text(data.tgt), user: data.user, expected: data.minions?.length, returned: 0 });
    } else if (kind === "ret" && table.get(jid)) {
      const row = table.get(jid);
      table.update({ ...row, returned: (row.returned ?? 0) + 1, failed: (row.failed ?? 0) + (data.success === false || data.retcode ? 1 : 0) });
    }
  });
}

const COLUMNS = [
  { title: "Job", sort: (row) => row.jid, cell: (row) => h("a", { class: "mono", href: `#/job/${row.jid}` }, row.jid) },
  { title: "Started", wide: true, cell: (row) => h("span", { class: "dim" }, ago(jidTime(row.jid))) },
  { title: "Function", sort: (row) => row.fun, cell: (row) => h("span", { class: "mono" }, row.fun) },
  { title: "Target", sort: (row) => row.tgt, cell: (row) => row.tgt },
  { title: "User", wide: true, sort: (row) => row.user, cell: (row) => row.user },
  {
    title: "Returned", cell: (row) => {
      if (row.expected === undefined) return "";
      return h("span", { class: row.failed ? "bad" : null }, `${row.returned} of ${row.expected}`);
    },
  },
];

function rowOf(job) {
  return { jid: job.JID, fun: text(job.Function), args: job.Arguments, tgt: text(job.Target), user: job.User };
}

function text(value) {
  return Array.isArray(value) ? value.join(", ") : String(value ?? "");
}
