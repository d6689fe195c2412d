// Pure: from what the API returns to what is shown. Tested by node without a browser.

const JID = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{6})/;

/** The moment in a job id, which is UTC; `null` for what is no job id. */
export function jidTime(jid) {
  const parts = JID.exec(jid);
  if (!parts) return null;
  const [, year, month, day, hour, minute, second, micro] = parts.map(Number);
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second, micro / 1000));
}

/** "just now", "5 min ago", "3 h ago", "12 days ago"; "never" for `null`. */
export function ago(moment, now = new Date()) {
  if (!moment) return "never";
  const seconds = Math.max(0, (now - moment) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** Whether a return is that of a state run: a map whose values have `result` and `__run_num__`. */
export function isStateRun(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const chunks = Object.values(value);
  return chunks.length > 0 && chunks.every((chunk) =>
    chunk !== null && typeof chunk === "object" && "result" in chunk && "__run_num__" in chunk);
}

/** The steps of a state run in the order they ran. */
export function stateSteps(value) {
  return Object.entries(value)
    .map(([key, chunk]) => {
      const parts = key.split("_|-");
      return {
        name: parts.length === 4 ? `${parts[0]}.${parts[3]}` : key,
        target: chunk.name ?? chunk.__id__ ?? "",
        result: chunk.result,
        changes: chunk.changes && Object.keys(chunk.changes).length ? chunk.changes : null,
        comment: [chunk.comment ?? ""].flat().join("\n"),
        order: chunk.__run_num__,
      };
    })
    .sort((one, other) => one.order - other.order);
}

/** `{ok, changed, failed, total, wouldChange}` of a state run. */
export function stateSummary(value) {
  const steps = stateSteps(value);
  return {
    total: steps.length,
    ok: steps.filter((step) => step.result === true).length,
    failed: steps.filter((step) => step.result === false).length,
    changed: steps.filter((step) => step.changes && step.result === true).length,
    wouldChange: steps.filter((step) => step.result === null).length,
  };
}

/** One line for a return: what a table of minions shows. */
export function shortText(value) {
  if (isStateRun(value)) {
    const { ok, changed, failed, wouldChange } = stateSummary(value);
    const parts = [`${ok} ok`];
    if (changed) parts.push(`${changed} changed`);
    if (wouldChange) parts.push(`${wouldChange} would change`);
    if (failed) parts.push(`${failed} failed`);
    return parts.join(", ");
  }
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  const line = text.split("\n", 1)[0];
  return line.length > 120 || line.length < text.length ? `${line.slice(0, 120)} …` : line;
}

/** A value in full, as lines. */
export function longText(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}

/** Changes of a state: a diff as it is, other values as data. */
export function changesText(changes) {
  return Object.entries(changes)
    .map(([name, value]) => (typeof value === "string" ? `${name}:\n${value}` : `${name}: ${JSON.stringify(value, null, 2)}`))
    .join("\n");
}

/**
 * Split a line into words as a shell does ('…', "…", \), then into arguments as Salt does: what
 * looks like JSON is JSON, `name=value` is a keyword. Throws for a quote that is not closed.
 */
export function parseArguments(line) {
  const arg = [];
  const kwarg = {};
  for (const { word, bare } of splitWords(line)) {
    const named = /^([A-Za-z_][A-Za-z0-9_]*)=([^]*)$/.exec(word);
    if (named && bare > named[1].length) kwarg[named[1]] = readValue(named[2]);
    else arg.push(bare ? readValue(word) : word);
  }
  return { arg, kwarg };
}

/** Words, each with how many of its first characters stood outside of quotes. */
function splitWords(line) {
  const words = [];
  let word = null;
  let bare = 0;
  let quote = "";
  for (let i = 0; i < line.length; i += 1) {
    const char = line[i];
    if (quote) {
      if (char === quote) quote = "";
      else word += quote === '"' && char === "\\" && i + 1 < line.length ? line[i += 1] : char;
    } else if (/\s/.test(char)) {
      if (word !== null) words.push({ word, bare });
      word = null;
    } else {
      if (word === null) { word = ""; bare = 0; }
      if (char === "'" || char === '"') quote = char;
      else {
        if (bare === word.length) bare += 1;
        word += char === "\\" && i + 1 < line.length ? line[i += 1] : char;
      }
    }
  }
  if (quote) throw new Error(`the quote ${quote} is not closed`);
  if (word !== null) words.push({ word, bare });
  return words;
}

function readValue(word) {
  if (word === "True" || word === "False") return word === "True";
  if (word === "None") return null;
  try {
    return JSON.parse(word);
  } catch {
    return word;
  }
}
