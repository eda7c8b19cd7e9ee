// Modals: the view on top of the stack, what was typed into it, and the confirmation box.

import { blocks } from "./blocks.js";
import { context, desk, said, send } from "./desk.js";
import { h, plain, textObject } from "./text.js";

const box = document.getElementById("modal");
const small = document.getElementById("confirm");
const open = { id: null, hash: null, typed: {}, errors: {}, trouble: null };

export function viewContext(view, hooks, errors = {}) {
  const values = view.state?.values ?? {};
  const mine = open.id === view.id ? open.typed : {};
  return {
    ...context(), confirm,
    id: (b, e) => `v${view.id}-${b.block_id}-${e.action_id}`,
    get: (block, action) => mine[block]?.[action] ?? values[block]?.[action],
    set: (block, action, entry) => { (mine[block] ??= {})[action] = entry; },
    error: (block) => errors[block],
    suggest: (e, query) => send("/control/suggest", { user: desk.user, view_id: view.id, action_id: e.action_id, query }),
    act: async (e, b, entry) => {
      const body = { user: desk.user, view_id: view.id, action_id: e.action_id, block_id: b.block_id, entry, state: mine };
      hooks.trouble(said(await send("/control/press", body)));
    },
  };
}

export function confirm(dialog) {
  const words = (object, otherwise) => (object ? plain(object) : otherwise);
  return new Promise((resolve) => {
    const done = (answer) => { small.close(); resolve(answer); };
    small.oncancel = (event) => { event.preventDefault(); done(false); };
    small.replaceChildren(h("div", { class: "modal-head" }, h("h2", {}, words(dialog.title, "Are you sure?"))),
      h("div", { class: "modal-body" }, textObject(dialog.text, context())),
      h("div", { class: "modal-foot" }, h("button", { type: "button", class: "btn", onclick: () => done(false) }, words(dialog.deny, "Cancel")),
        h("button", { type: "button", class: `btn ${dialog.style ?? "primary"}`, onclick: () => done(true) }, words(dialog.confirm, "Yes"))));
    small.showModal();
  });
}

export function drawModal(stack, refresh) {
  const view = stack.at(-1);
  if (!view) { if (box.open) box.close(); box.replaceChildren(); open.id = null; return; }
  if (open.id === view.id && open.hash === view.hash && box.open) return;
  if (open.id !== view.id) Object.assign(open, { typed: {} });
  Object.assign(open, { id: view.id, hash: view.hash, errors: {}, trouble: null });
  paint(view, stack.length, refresh);
}

function paint(view, depth, refresh) {
  const scroll = box.querySelector(".modal-body")?.scrollTop ?? 0;
  const trouble = (words) => { open.trouble = words; paint(view, depth, refresh); };
  const ctx = viewContext(view, { trouble }, open.errors);
  const close = async () => { await send("/control/close", { user: desk.user }); refresh(); };
  const form = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); submit(view, depth, refresh); } },
    h("div", { class: "modal-head" }, h("img", { src: "/static/mark.svg", alt: "", width: 26, height: 26 }), h("h2", { id: "modal-title" }, plain(view.title)),
      h("button", { type: "button", class: "icon", "aria-label": depth > 1 ? "Back" : "Close", onclick: close }, depth > 1 ? "←" : "✕")),
    h("div", { class: "modal-body" }, open.trouble && h("p", { class: "warning", role: "alert" }, "⚠ ", open.trouble), blocks(view.blocks, ctx)),
    h("div", { class: "modal-foot" }, h("button", { type: "button", class: "btn", onclick: close }, view.close ? plain(view.close) : "Close"),
      view.submit && h("button", { type: "submit", class: "btn primary" }, plain(view.submit))));
  box.setAttribute("aria-labelledby", "modal-title");
  box.oncancel = (event) => { event.preventDefault(); close(); };
  box.replaceChildren(form);
  if (!box.open) box.showModal();
  box.querySelector(".modal-body").scrollTop = scroll;
  const wrong = box.querySelector("[aria-invalid]");
  (wrong ?? box.querySelector("[autofocus]") ?? box.querySelector(".modal-body input, .modal-body textarea, .modal-body select"))?.focus();
}

async function submit(view, depth, refresh) {
  const button = box.querySelector("[type=submit]");
  if (!button || button.classList.contains("busy")) return;
  button.classList.add("busy");
  const answer = await send("/control/submit", { user: desk.user, view_id: view.id, state: open.typed });
  button.classList.remove("busy");
  open.errors = answer.errors ?? {};
  const incomplete = answer.sent === false && Object.keys(open.errors).length;
  open.trouble = answer.acked || incomplete ? null : said(answer);
  if (Object.keys(open.errors).length || open.trouble) paint(view, depth, refresh);
  else open.hash = null;
  refresh();
}
