import { runner } from "./api.js";
import { busy, h, notify, replace } from "./dom.js";
import { subscribe } from "./events.js";
import { KeyedTable } from "./table.js";
import { ago, changesText, isStateRun, jidTime, longText, shortText, stateSteps } from "./text.js";

/** One job: who has returned what, how far state runs are, and why somebody is missing. */
export function showJob(area, jid) {
  const view = new JobView(jid);
  replace(area, view.element);
  view.load().catch((error) => notify(error.message));
  return () => view.close();
}

/** Also part of the page that runs functions. `onDone(rows)` is called once, when all have returned. */
export class JobView {
  constructor(jid, onDone = () => {}) {
    this.jid = jid;
    this.onDone = onDone;
    this.done = false;
    this.facts = h("p", { class: "dim" });
    this.bar = h("progress", { "aria-label": "Returned", max: 1, value: 0 });
    this.count = h("span", { role: "status" });
    this.why = h("button", { type: "button", onclick: () => busy(this.why, () => this.explain()) }, "Why are some missing?");
    this.table = new KeyedTable([
      { title: "Minion", sort: (row) => row.id, cell: (row) => h("a", { href: `#/minion/${encodeURIComponent(row.id)}` }, row.id) },
      { title: "Result", sort: rank, cell: resultCell },
      { title: "Return", cell: returnCell },
    ], (row) => row.id, "Returns");
    this.element = h("section", {},
      h("h1", {}, "Job ", h("span", { class: "mono" }, jid)), this.facts,
      h("div", { class: "bar" }, this.bar, this.count, this.why), this.table.element);
    this.stop = subscribe((event) => this.hear(event));
  }

  close() {
    this.stop();
  }

  async load() {
    const job = await runner("jobs.list_job", { jid: this.jid });
    if (job.Error) throw new Error(job.Error);
    const fun = [job.Function].flat().join(", ");
    this.facts.textContent = `${fun} on ${[job.Target].flat().join(", ")} (${job["Target-type"]}) by ${job.User}, ${ago(jidTime(this.jid))}`;
    for (const id of job.Minions ?? []) if (!this.table.get(id)?.ret) this.table.rows.set(id, { ...this.table.get(id), id });
    for (const [id, ret] of Object.entries(job.Result)) this.table.rows.set(id, { id, ret });
    this.table.elements.clear();
    this.table.arrange();
    this.measure();
  }

  hear({ tag, data }) {
    const [, kind, id] = new RegExp(`^salt/job/${this.jid}/(ret|prog)/([^/]+)`).exec(tag) ?? [];
    if (!kind || tag.endsWith("/now")) return; // which state has begun, for a terminal
    const row = this.table.get(id) ?? { id };
    if (kind === "ret") this.table.update({ id, ret: data });
    else if (!row.ret) this.table.update({ ...row, steps: (row.steps ?? 0) + 1, step: data.data?.ret ?? data.ret });
    this.measure();
  }

  measure() {
    const rows = [...this.table.rows.values()];
    const back = rows.filter((row) => row.ret).length;
    this.bar.max = Math.max(1, rows.length);
    this.bar.value = back;
    this.count.textContent = `${back} of ${rows.length} returned`;
    this.why.hidden = back === rows.length;
    if (rows.length && back === rows.length && !this.done) {
      this.done = true;
      this.onDone(rows);
    }
  }

  async explain() {
    const reasons = await runner("jobs.why", { jid: this.jid });
    for (const [id, { text }] of Object.entries(reasons)) {
      const row = this.table.get(id) ?? { id };
      if (!row.ret) this.table.update({ ...row, reason: text });
    }
  }
}

export function succeeded(ret) {
  const codes = ret.retcode !== null && typeof ret.retcode === "object" ? Object.values(ret.retcode) : [ret.retcode ?? 0];
  return ret.success !== false && codes.every((code) => code === 0);
}

function rank(row) {
  return row.ret ? (succeeded(row.ret) ? 2 : 0) : 1;
}

function resultCell(row) {
  if (!row.ret) return h("span", { class: "warn" }, row.steps ? `${row.steps} states done` : "waiting");
  return succeeded(row.ret) ? h("span", { class: "good" }, "ok") : h("span", { class: "bad" }, "failed");
}

function returnCell(row) {
  if (!row.ret) return h("span", { class: "dim" }, row.reason ?? row.step?.name ?? "");
  const value = row.ret.return;
  const body = h("div");
  // A thousand returns are a thousand folded lines; what is inside is made when it is opened.
  return h("details", {
    ontoggle: ({ target }) => { if (target.open) replace(body, isStateRun(value) ? steps(value) : h("pre", {}, longText(value))); },
  }, h("summary", {}, shortText(value)), body);
}

const WORDS = new Map([[true, ["good", "ok"]], [false, ["bad", "failed"]], [null, ["change", "would change"]]]);

function steps(value) {
  return h("table", {}, h("tbody", {}, stateSteps(value).map((step) => {
    const [look, word] = WORDS.get(step.result) ?? ["warn", String(step.result)];
    return h("tr", {},
      h("td", { class: look }, step.changes && step.result ? "changed" : word),
      h("td", {}, h("span", { class: "mono" }, step.name), " ", step.target),
      h("td", {}, step.comment, step.changes ? h("pre", {}, changesText(step.changes)) : null));
  })));
}
