// The frame: who is logged in, which page is shown, and the state of the event stream.

import { currentAccount, logout, onSignedOut } from "./api.js";
import { h, notify, replace } from "./dom.js";
import * as events from "./events.js";
import { showEvents } from "./view_events.js";
import { showJob } from "./view_job.js";
import { showJobs } from "./view_jobs.js";
import { showKeys } from "./view_keys.js";
import { showLogin } from "./view_login.js";
import { showMinion } from "./view_minion.js";
import { showMinions } from "./view_minions.js";
import { showRun } from "./view_run.js";

const PAGES = [
  ["minions", "Minions", showMinions],
  ["keys", "Keys", showKeys],
  ["jobs", "Jobs", showJobs],
  ["run", "Run", showRun],
  ["events", "Events", showEvents],
];
const DETAILS = { minion: showMinion, job: showJob };

const content = document.getElementById("content");
let leave = () => {};
let latest = 0;

/** A view fills the element it is given and returns what ends its subscriptions. */
async function show() {
  latest += 1;
  const mine = latest;
  leave();
  leave = () => {};
  const account = await currentAccount();
  if (mine !== latest) return; // the user has gone elsewhere meanwhile
  frame(account);
  if (!account) {
    showLogin(content, refresh);
    return;
  }
  events.open((state) => {
    document.getElementById("stream").textContent = state === "live" ? "● live" : "○ connecting";
  });
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const view = DETAILS[name] ?? PAGES.find(([page]) => page === name)?.[2] ?? showMinions;
  const area = h("div");
  replace(content, area);
  leave = view(area, ...rest.map(decodeURIComponent)) ?? (() => {});
  content.focus({ preventScroll: true });
}

function frame(account) {
  const here = location.hash.replace(/^#\/?/, "").split("/")[0] || "minions";
  replace(document.getElementById("nav"), account ? PAGES.map(([name, title]) =>
    h("a", { href: `#/${name}`, "aria-current": here === name ? "page" : null }, title)) : []);
  replace(document.getElementById("user"), account ? [
    `${account.user} `,
    h("button", { type: "button", onclick: () => logout().catch((error) => notify(error.message)) }, "Log out"),
  ] : []);
  if (!account) document.getElementById("stream").textContent = "";
}

onSignedOut(() => {
  events.close();
  refresh();
});

function refresh() {
  show().catch((error) => notify(error.message));
}

addEventListener("hashchange", refresh);
refresh();
