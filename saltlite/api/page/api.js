// Calls of salt-api. The session is a cookie that scripts cannot read; nothing secret is kept here.

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const signedOutListeners = new Set();

/** Call `listener` whenever the server says that nobody is logged in any more. */
export function onSignedOut(listener) {
  signedOutListeners.add(listener);
}

/** POST JSON; resolves to the value of `return`, rejects with ApiError. */
async function post(path, body) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "Accept": "application/json", "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, errorText(response.status, answer));
  return answer.return;
}

function errorText(status, answer) {
  if (status === 401) return "You have no right to do that.";
  if (status === 429) return "Too many attempts; wait a moment.";
  if (status === 503) return "The master does not answer.";
  return typeof answer.return === "string" ? answer.return : `The server answered ${status}.`;
}

/** Log in; resolves to `{user, perms, expire}`, rejects with ApiError 401 for wrong credentials. */
export async function login(username, password, eauth) {
  const [session] = await post("login", { username, password, eauth });
  const account = { user: session.user, perms: session.perms, expire: session.expire };
  sessionStorage.setItem("account", JSON.stringify(account));
  return account;
}

/** Who is logged in, `null` for nobody: the server is asked, for the session may have ended. */
export async function currentAccount() {
  const kept = sessionStorage.getItem("account");
  if (!kept) return null;
  try {
    await post("", []);
    return JSON.parse(kept);
  } catch (error) {
    if (error.status === 401) return null;
    throw error;
  }
}

export async function logout() {
  try {
    await post("logout", {});
  } finally {
    signOut();
  }
}

function signOut() {
  sessionStorage.removeItem("account");
  signedOutListeners.forEach((listener) => listener());
}

/** Run one chunk of low data; resolves to its result. */
export async function run(chunk) {
  try {
    const [result] = await post("", [chunk]);
    return result;
  } catch (error) {
    if (error.status === 401 && !(await isLoggedIn())) signOut();
    throw error;
  }
}

/** 401 means both "who are you" and "you may not"; a request for nothing tells which. */
async function isLoggedIn() {
  return (await currentAccount().catch(() => true)) !== null;
}

export function runner(fun, kwarg = {}) {
  return run({ client: "runner", fun, kwarg });
}

/** A wheel function's own return; rejects when it says that it failed. */
export async function wheel(fun, kwarg = {}) {
  const { data } = await run({ client: "wheel", fun, kwarg });
  if (!data.success) throw new ApiError(200, String(data.return));
  return data.return;
}

/** Publish a job without waiting; resolves to `{jid, minions}`, `{}` when no minion is meant. */
export function publish(job) {
  return run({ client: "local_async", ...job });
}
