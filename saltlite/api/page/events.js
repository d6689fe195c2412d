// The master's events, one stream for the whole page.

const KEPT = 500;
const listeners = new Set();
const recent = [];
let source = null;

/** Open the stream; `onState` hears "live" and "connecting". Opening twice is one stream. */
export function open(onState) {
  if (source) return;
  source = new EventSource("events", { withCredentials: true });
  source.onopen = () => onState("live");
  source.onerror = () => onState("connecting");
  source.onmessage = ({ data }) => {
    const event = JSON.parse(data);
    recent.push(event);
    if (recent.length > KEPT) recent.shift();
    listeners.forEach((listener) => listener(event));
  };
}

export function close() {
  source?.close();
  source = null;
  recent.length = 0;
}

/** Hear each event, `{tag, data}`; returns what ends it. */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The last events, oldest first. */
export function lastEvents() {
  return [...recent];
}
