// What the page makes of values, without a browser: node --test tests/unit/api/page_text.test.mjs

import assert from "node:assert/strict";
import test from "node:test";
import {
  ago, changesText, isStateRun, jidTime, longText, parseArguments, shortText, stateSteps, stateSummary,
} from "../../../saltlite/api/page/text.js";

const run = {
  "file_|-b_|-/b_|-managed": { __run_num__: 1, result: true, changes: { diff: "x" }, comment: "written", name: "/b" },
  "pkg_|-a_|-vim_|-installed": { __run_num__: 0, result: true, changes: {}, comment: "there", name: "vim" },
  "service_|-c_|-x_|-running": { __run_num__: 2, result: false, changes: {}, comment: ["no", "such"], name: "x" },
  "cmd_|-d_|-ls_|-run": { __run_num__: 3, result: null, changes: { cmd: "ls" }, comment: "would", name: "ls" },
};

test("a job id is a moment in UTC", () => {
  assert.equal(jidTime("20260102030405000006").toISOString(), "2026-01-02T03:04:05.000Z");
  assert.equal(jidTime("req"), null);
});

test("moments are told roughly", () => {
  const now = new Date("2026-01-02T12:00:00Z");
  const rows = [["2026-01-02T11:59:50Z", "just now"], ["2026-01-02T11:55:00Z", "5 min ago"], ["2026-01-02T09:00:00Z", "3 h ago"], ["2025-12-31T12:00:00Z", "2 days ago"]];
  for (const [moment, words] of rows) assert.equal(ago(new Date(moment), now), words);
  assert.equal(ago(null), "never");
});

test("a state run is told from other maps", () => {
  assert.equal(isStateRun(run), true);
  for (const other of [{}, [], null, "x", { a: 1 }, { a: { result: true } }]) assert.equal(isStateRun(other), false);
});

test("steps come in the order they ran", () => {
  assert.deepEqual(stateSteps(run).map((step) => `${step.name} ${step.target}`), ["pkg.installed vim", "file.managed /b", "service.running x", "cmd.run ls"]);
  assert.equal(stateSteps(run)[2].comment, "no\nsuch");
  assert.deepEqual(stateSummary(run), { total: 4, ok: 2, failed: 1, changed: 1, wouldChange: 1 });
  assert.equal(shortText(run), "2 ok, 1 changed, 1 would change, 1 failed");
});

test("a short text is one line", () => {
  assert.equal(shortText(true), "true");
  assert.equal(shortText("a\nb"), "a …");
  assert.equal(shortText({ a: 1 }), '{"a":1}');
  assert.equal(longText({ a: 1 }), '{\n  "a": 1\n}');
});

test("a diff is shown as it is", () => {
  assert.equal(changesText({ diff: "-a\n+b", mode: { old: "1" } }), 'diff:\n-a\n+b\nmode: {\n  "old": "1"\n}');
});

test("arguments are words, values and keywords", () => {
  const rows = [
    ["", [], {}],
    ["web", ["web"], {}],
    ["'a b' \"c d\" e\\ f", ["a b", "c d", "e f"], {}],
    ["1 true [1,2]", [1, true, [1, 2]], {}],
    ["True None", [true, null], {}],
    ["'1'", ["1"], {}],
    ["test=True pillar='{\"a\": 1}'", [], { test: true, pillar: { a: 1 } }],
    ["'a=b' c=", ["a=b"], { c: "" }],
    ["url=http://x/?a=b", [], { url: "http://x/?a=b" }],
  ];
  for (const [line, arg, kwarg] of rows) assert.deepEqual(parseArguments(line), { arg, kwarg }, line);
  assert.throws(() => parseArguments("'open"), /not closed/);
});
