// The page: who you are, where you are, what is said there, and what is new.

import { blocks } from "./blocks.js";
import { context, desk, get, recall, remember, said, send } from "./desk.js";
import { avatar, streamNodes, threadNodes } from "./messages.js";
import { confirm, drawModal, viewContext } from "./modal.js";
import { h, plain } from "./text.js";

const $ = (id) => document.getElementById(id);
const HOME = "home";
let painted = {};

const hooks = { confirm, openThread, redraw: () => { painted = {}; drawMessages(); } };

async function refresh() {
  desk.state = await get("/page/state", { user: desk.user });
  desk.user = desk.state.viewer;
  desk.skew = desk.state.now - Date.now() / 1000;
  const known = desk.state.channels.some((c) => c.id === desk.place) || desk.place === HOME;
  if (!known) desk.place = desk.state.channels[0].id;
  desk.room = desk.place === HOME ? direct()?.id : desk.place;
  desk.messages = desk.room ? (await get("/page/channel", { user: desk.user, channel: desk.room })).messages : [];
  remember();
  draw();
}

function draw() {
  drawSidebar();
  drawTop();
  drawMessages();
  drawModal(desk.state.modals, refresh);
}

function once(name, value, paint) {
  const now = JSON.stringify(value);
  if (painted[name] === now) return;
  painted[name] = now;
  paint();
}

function drawSidebar() {
  const { state } = desk;
  once("who", [state.people, desk.user], drawWho);
  once("channels", [state.channels, desk.place, desk.user], () => {
    const rooms = state.channels.filter((c) => !c.is_im);
    $("channels").replaceChildren(h("h3", {}, "Channels"), h("ul", {}, rooms.map((c) => row(c.id, "#", c.name, c.unread))),
      h("h3", {}, "Apps"), h("ul", {}, row(HOME, null, state.app.name, direct()?.unread ?? 0)));
  });
  once("foot", [state.connected, state.can_advance, state.app.name], () => $("foot").replaceChildren(
    h("div", { class: `bot ${state.connected ? "on" : "off"}`, role: "status" }, h("i"), state.connected ? `${state.app.name} is connected` : `${state.app.name} is not connected`),
    state.can_advance && h("button", { type: "button", class: "btn", title: "Let half an hour pass", onclick: advance }, "+30 min")));
}

const direct = () => desk.state.channels.find((c) => c.is_im);

function drawWho() {
  const me = context().user(desk.user);
  const people = desk.state.people.filter((p) => !p.is_bot);
  const menu = h("details", { class: "switcher" }, h("summary", { "aria-label": `You are ${me.real_name}. Switch person` }, avatar(me, 34),
    h("span", {}, h("strong", {}, me.real_name), h("small", {}, me.profile.title)), h("i", { "aria-hidden": "true" }, "⌄")));
  menu.append(h("div", { class: "menu", role: "menu" }, h("p", { class: "quiet" }, "Act as"), people.map((p) => h("button", {
    type: "button", role: "menuitemradio", "aria-checked": String(p.id === desk.user), disabled: p.deleted,
    onclick: () => { menu.open = false; become(p.id); },
  }, avatar(p, 30), h("span", {}, h("strong", {}, p.real_name), h("small", {}, p.deleted ? "Deactivated" : p.profile.title))))));
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { menu.open = false; menu.firstChild.focus(); } });
  $("who").replaceChildren(menu);
}

function row(id, sign, name, unread) {
  return h("li", {}, h("button", { type: "button", class: `${id === desk.place ? "here" : ""}${unread ? " unread" : ""}`, "aria-current": id === desk.place ? "page" : null, onclick: () => go(id) },
    sign ? h("span", { class: "sign", "aria-hidden": "true" }, sign) : h("img", { src: "/static/mark.svg", alt: "", width: 18, height: 18 }), h("span", { class: "name" }, name),
    unread > 0 && id !== desk.place && h("b", { "aria-label": `${unread} unread` }, unread)));
}

function drawTop() {
  const place = desk.state.channels.find((c) => c.id === desk.place);
  once("top", [place?.name, place?.topic, place?.members?.length, desk.place, desk.tab], () => {
    const menu = h("button", { type: "button", class: "icon menu-button", "aria-label": "Open menu", onclick: () => drawer(true) }, "☰");
    if (desk.place === HOME) {
      const tab = (name, words) => h("button", { type: "button", role: "tab", "aria-selected": String(desk.tab === name), onclick: () => { desk.tab = name; openHome(); } }, words);
      $("top").replaceChildren(menu, h("h1", {}, desk.state.app.name), h("div", { role: "tablist", class: "tabs" }, tab("home", "Home"), tab("messages", "Messages")));
    } else {
      $("top").replaceChildren(menu, h("h1", {}, place.name ? `# ${place.name}` : desk.state.app.name), h("p", { class: "topic" }, place.topic?.value ?? ""),
        h("span", { class: "count", title: "Members" }, `${place.members.length} members`));
    }
  });
  document.title = `${place?.name ? `#${place.name}` : desk.state.app.name} · ${desk.state.team}`;
}

function drawMessages() {
  const stream = $("stream");
  if (desk.place === HOME && desk.tab === "home") return drawHome(stream);
  const shown = desk.messages;
  compose($("composer"), desk.room, null);
  once("stream", [desk.place, desk.user, shown, [...desk.warnings], desk.state.people.length], () => {
    const low = stream.scrollHeight - stream.scrollTop - stream.clientHeight < 80 || stream.dataset.place !== desk.place;
    const before = stream.scrollTop;
    stream.replaceChildren(...streamNodes(shown, hooks));
    stream.scrollTop = low ? stream.scrollHeight : before;
    stream.dataset.place = desk.place;
    const target = desk.target && stream.querySelector(`[data-ts="${CSS.escape(desk.target)}"]`);
    if (target) { target.scrollIntoView({ block: "center" }); target.classList.add("target"); desk.target = null; }
    markRead(shown);
  });
  drawThread(shown);
}

function drawHome(stream) {
  const view = desk.state.home;
  once("stream", [HOME, desk.user, view], () => {
    const trouble = (words) => { if (words) banner(words, 6000); };
    stream.replaceChildren(h("div", { class: "home" }, view ? blocks(view.blocks, viewContext(view, { trouble })) : h("p", { class: "empty" }, "The app has not drawn its Home yet.")));
    stream.dataset.place = HOME;
  });
  $("composer").hidden = true;
  desk.thread = null;
  drawThread([]);
}

function drawThread(messages) {
  const pane = $("thread");
  pane.hidden = !desk.thread;
  document.body.classList.toggle("with-thread", Boolean(desk.thread));
  if (!desk.thread) {
    $("thread-stream").replaceChildren();
    delete painted.thread;
    return;
  }
  compose($("thread-composer"), desk.room, desk.thread);
  once("thread", [desk.thread, messages, desk.user, [...desk.warnings]], () => {
    const stream = $("thread-stream");
    stream.replaceChildren(...threadNodes(messages, desk.thread, hooks));
    stream.scrollTop = stream.scrollHeight;
  });
}

function compose(form, channel, thread) {
  form.hidden = !channel;
  const key = `${channel} ${thread ?? ""} ${desk.user}`;
  if (form.dataset.key === key) return;
  form.dataset.key = key;
  const place = desk.state.channels.find((c) => c.id === channel);
  const label = thread ? "Reply…" : place?.name ? `Message #${place.name}` : `Message ${desk.state.app.name}`;
  const box = h("textarea", { rows: 1, placeholder: label, "aria-label": label,
    oninput: () => { box.style.height = "auto"; box.style.height = `${Math.min(160, box.scrollHeight)}px`; },
    onkeydown: (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); form.requestSubmit(); } } });
  form.onsubmit = (event) => { event.preventDefault(); const text = box.value.trim(); box.value = ""; box.style.height = "auto"; if (text) speak(channel, text, thread); };
  form.replaceChildren(box, h("button", { type: "submit", class: "btn primary", "aria-label": "Send" }, "➤"));
}

async function speak(channel, text, thread) {
  const command = text.match(/^(\/[\w-]+)\s*(.*)$/s);
  const answer = command && !thread
    ? await send("/control/command", { user: desk.user, channel, command: command[1], text: command[2] })
    : await send("/control/post", { user: desk.user, channel, text: spelled(text), thread_ts: thread });
  if (command && said(answer)) banner(`${command[1]} failed. ${said(answer)}`, 6000);
  else if (answer.ok === false) banner(`Not sent: ${answer.error}`, 6000);
  await refresh();
  for (const id of ["stream", "thread-stream"]) $(id).scrollTop = $(id).scrollHeight;
}

function spelled(text) {
  const safe = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  return safe.replace(/(^|\s)@([\w.-]+)/g, (all, gap, name) => {
    const user = desk.state.people.find((p) => p.name === name);
    const group = desk.state.groups.find((g) => g.handle === name);
    return user ? `${gap}<@${user.id}>` : group ? `${gap}<!subteam^${group.id}>` : all;
  });
}

async function go(place) {
  Object.assign(desk, { place, thread: null });
  drawer(false);
  if (place === HOME) return openHome();
  await refresh();
  $("stream").focus({ preventScroll: true });
}

async function openHome() {
  await send("/control/home", { user: desk.user });
  await refresh();
}

async function become(user) {
  Object.assign(desk, { user, thread: null, warnings: new Map() });
  painted = {};
  drawer(false);
  await (desk.place === HOME ? openHome() : refresh());
}

function openThread(ts) {
  desk.thread = desk.messages.find((m) => m.ts === ts)?.thread_ts ?? ts;
  remember();
  drawMessages();
  $("thread-composer").querySelector("textarea")?.focus();
}

async function markRead(messages) {
  const last = messages.at(-1);
  const channel = desk.room;
  const read = desk.state.channels.find((c) => c.id === channel)?.read ?? "0";
  if (last && last.ts > read && document.visibilityState === "visible") await send("/page/read", { user: desk.user, channel, ts: last.ts });
}

async function advance() {
  const answer = await send("/control/advance", { seconds: 1800 });
  banner(answer.ok ? "Half an hour has passed." : "Time cannot be moved here.", 3000);
  await refresh();
}

function drawer(shown) {
  document.body.classList.toggle("drawer", shown);
  $("scrim").hidden = !shown;
}

let hiding = null;
function banner(words, for_) {
  $("banner").textContent = words;
  $("banner").hidden = !words;
  clearTimeout(hiding);
  if (for_) hiding = setTimeout(() => { $("banner").hidden = true; }, for_);
}

let pending = null;
function soon() {
  pending ??= setTimeout(async () => { pending = null; await update(); }, 40);
}

async function update() {
  try {
    await refresh();
  } catch {
    banner("The workspace cannot be reached. Trying again…");
  }
}

function listen() {
  const source = new EventSource("/page/events");
  let lost = false;
  source.onopen = () => { if (lost) { lost = false; banner(""); } soon(); };
  source.onerror = () => {
    lost = true;
    banner("The workspace cannot be reached. Trying again…");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 1000);
  };
  source.onmessage = (event) => {
    const change = JSON.parse(event.data);
    if ("connected" in change && Object.keys(change).length === 1) {
      if (desk.state && desk.state.connected !== change.connected) { desk.state.connected = change.connected; drawSidebar(); }
    } else soon();
  };
}

$("thread-close").addEventListener("click", () => { desk.thread = null; remember(); drawMessages(); });
$("scrim").addEventListener("click", () => drawer(false));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
  if (document.body.classList.contains("drawer")) drawer(false);
  else if (desk.thread) $("thread-close").click();
});
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible" && desk.state) soon(); });
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.switcher[open], details.picker[open]")) if (!menu.contains(event.target)) menu.open = false;
});

recall();
await (desk.place === HOME ? refresh().then(openHome) : refresh());
listen();
