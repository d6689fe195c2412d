import { publish, run } from "./api.js";
import { busy, h, notify, replace } from "./dom.js";
import { parseArguments } from "./text.js";
import { JobView } from "./view_job.js";

const TARGETS = ["glob", "list", "grain", "compound", "nodegroup", "pcre", "pillar", "ipcidr"];
const STATES = ["state.apply", "state.highstate", "state.sls"];

/** Run a function, or apply states: those are tried first, and applied when the result was seen. */
export function showRun(area, target = "*", name = "test.ping") {
  const tgt = h("input", { name: "tgt", value: target, required: true });
  const kind = h("select", { name: "tgt_type" }, TARGETS.map((one) => h("option", {}, one)));
  const fun = h("input", { name: "fun", value: name, required: true, list: "functions", autocapitalize: "none", spellcheck: "false" });
  const args = h("input", { name: "args", placeholder: "web pillar='{\"a\": 1}'", autocapitalize: "none", spellcheck: "false" });
  const button = h("button", { class: "main" }, "Run");
  const known = h("datalist", { id: "functions" });
  const result = h("div");
  let view = null;

  const start = async (job, onDone) => {
    const { jid } = await publish(job);
    if (!jid) throw new Error("No minion is meant.");
    view?.close();
    view = new JobView(jid, onDone);
    replace(result, view.element);
    await view.load();
  };
  const submit = async () => {
    const job = { tgt: tgt.value.trim(), tgt_type: kind.value, fun: fun.value.trim(), ...parseArguments(args.value) };
    if (!STATES.includes(job.fun) || "test" in job.kwarg) return start(job);
    const trial = { ...job, kwarg: { ...job.kwarg, test: true } };
    return start(trial, (rows) => offer(rows, job));
  };
  const offer = (rows, job) => {
    const apply = h("button", { type: "button", class: "main", onclick: () => busy(apply, () => start(job)) },
      `Apply to ${rows.length} minion${rows.length === 1 ? "" : "s"}`);
    result.prepend(h("div", { class: "bar", role: "status" }, "This was a test run; nothing has changed yet.", apply));
  };
  const label = () => { button.textContent = STATES.includes(fun.value.trim()) ? "Test run" : "Run"; };
  fun.addEventListener("input", label);
  label();

  replace(area, h("h1", {}, "Run"),
    h("form", { class: "card", onsubmit: (event) => { event.preventDefault(); busy(button, submit); } },
      h("label", {}, "Target", tgt), h("label", {}, "Kind of target", kind),
      h("label", {}, "Function", fun), known, h("label", {}, "Arguments", args), button),
    result);
  fun.addEventListener("focus", () => suggest(known), { once: true });
  return () => view?.close();
}

/** The functions of one minion; without the right to ask there are no suggestions, and no harm. */
async function suggest(list) {
  const answer = await run({ client: "local_subset", tgt: "*", subset: 1, fun: "sys.list_functions" }).catch(() => ({}));
  const [names] = Object.values(answer);
  if (Array.isArray(names)) replace(list, names.map((value) => h("option", { value })));
  else notify("");
}
