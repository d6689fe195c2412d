import { runner } from "./api.js";
import { h, notify, replace } from "./dom.js";
import { longText } from "./text.js";

const FIRST = ["osfinger", "os", "osrelease", "kernelrelease", "saltversion", "fqdn", "ipv4", "mem_total", "num_cpus", "virtual"];

/** One minion: its grains as the master has them, and what jobs changed on it of late. */
export function showMinion(area, id) {
  const grains = h("div", {}, "…");
  const changes = h("div", {}, "…");
  replace(area, h("h1", {}, id),
    h("div", { class: "bar" },
      h("a", { href: `#/run/${encodeURIComponent(id)}` }, "Run a function"),
      h("a", { href: `#/run/${encodeURIComponent(id)}/state.apply` }, "Apply states")),
    h("h2", {}, "Changes of the last seven days"), changes, h("h2", {}, "Grains"), grains);
  runner("cache.grains", { tgt: id, tgt_type: "list" })
    .then((found) => replace(grains, grainsList(found[id] ?? {})))
    .catch((error) => notify(error.message));
  runner("jobs.changes", { minion: id, since: "7 days ago" })
    .then((found) => replace(changes, changesList(found)))
    .catch((error) => notify(error.message));
}

function grainsList(grains) {
  const names = Object.keys(grains);
  if (!names.length) return h("p", { class: "dim" }, "The master has none on record.");
  const first = FIRST.filter((name) => name in grains);
  const rest = names.filter((name) => !first.includes(name)).sort();
  return [pairs(grains, first), h("details", {}, h("summary", {}, `All ${names.length}`), pairs(grains, rest))];
}

function pairs(map, names) {
  return h("dl", {}, names.flatMap((name) => {
    const value = map[name];
    const text = Array.isArray(value) && value.every((item) => typeof item !== "object") ? value.join(", ") : longText(value);
    return [h("dt", {}, name), h("dd", {}, text)];
  }));
}

function changesList(found) {
  const jobs = Object.entries(found).reverse();
  if (!jobs.length) return h("p", { class: "dim" }, "None on record.");
  return jobs.map(([jid, job]) => h("details", {},
    h("summary", {}, `${job.StartTime.slice(0, 21)}  ${[job.Function].flat().join(", ")} by ${job.User}  `,
      h("a", { href: `#/job/${jid}` }, "job")),
    h("pre", {}, longText(job.Changes))));
}
