import { login } from "./api.js";
import { busy, h, notify, replace } from "./dom.js";

const MODULES = ["file", "pam", "ldap", "sharedsecret", "rest", "auto"];

/** The form of those who are not logged in; `done` is called after a good login. */
export function showLogin(area, done) {
  const user = h("input", { name: "username", autocomplete: "username", required: true, autofocus: true });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
  const eauth = h("select", { name: "eauth" },
    MODULES.map((name) => h("option", { selected: name === localStorage.getItem("eauth") }, name)));
  const button = h("button", { class: "main" }, "Log in");
  const form = h("form", {
    class: "card",
    onsubmit: (event) => {
      event.preventDefault();
      busy(button, async () => {
        await signIn(user.value, password.value, eauth.value);
        notify("");
        done();
      });
    },
  },
  h("h1", {}, "Log in"),
  h("label", {}, "User", user),
  h("label", {}, "Password", password),
  h("label", {}, "Checked by", eauth),
  button);
  replace(area, form);
  user.focus();
}

async function signIn(user, password, eauth) {
  try {
    await login(user, password, eauth);
  } catch (error) {
    if (error.status === 401) throw new Error("These credentials are wrong, or the module is not set up.");
    throw error;
  }
  localStorage.setItem("eauth", eauth);
}
