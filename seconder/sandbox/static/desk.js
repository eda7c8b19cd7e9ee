// What this page knows, and how it speaks with the workspace.

export const desk = { state: null, user: null, place: null, room: null, thread: null, messages: [], tab: "home", warnings: new Map() };

export async function get(path, query) {
  const answer = await fetch(`${path}?${new URLSearchParams(query)}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`${path} ${answer.status}`);
  return answer.json();
}

export async function send(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    return await answer.json();
  } catch {
    return { acked: false, error: "offline" };
  }
}

const SAID = {
  timeout: "This app didn’t respond.", not_connected: "This app is not connected.", offline: "The workspace cannot be reached.",
  invalid_response: "This app answered something that cannot be used.",
};

export function said(answer) {
  if (answer.acked || answer.ok) return null;
  return SAID[answer.error] ?? `This app didn’t respond (${answer.error}).`;
}

const find = (list, id) => list.find((one) => one.id === id);

// What drawing needs to know about the viewer and their workspace.
export function context() {
  const { state } = desk;
  const viewer = find(state.people, desk.user);
  return {
    viewer: desk.user, tz: viewer.tz,
    user: (id) => find(state.people, id), group: (id) => find(state.groups, id), channel: (id) => find(state.channels, id),
    people: () => state.people.filter((p) => !p.deleted && !p.is_bot), channels: () => state.channels,
    now: () => Date.now() / 1000 + desk.skew,
  };
}

export function remember() {
  const query = new URLSearchParams({ user: desk.user, in: desk.place });
  if (desk.thread) query.set("thread", desk.thread);
  history.replaceState(null, "", `/?${query}`);
  sessionStorage.setItem("user", desk.user);
}

export function recall() {
  const query = new URLSearchParams(location.search);
  desk.user = query.get("user") ?? sessionStorage.getItem("user") ?? "";
  desk.place = query.get("in");
  desk.thread = query.get("thread");
  const [, , channel, message] = location.pathname.split("/");
  if (!channel || !message) return;
  desk.place = channel;
  desk.target = `${message.slice(1, -6)}.${message.slice(-6)}`;
}
