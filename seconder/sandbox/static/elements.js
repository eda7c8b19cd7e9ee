// Everything a person can press or fill. ctx.act(element, block, entry) presses, ctx.set(...) only remembers.

import { h, plain } from "./text.js";

const HELD = {
  plain_text_input: ["value", "initial_value"], number_input: ["value", "initial_value"],
  email_text_input: ["value", "initial_value"], url_text_input: ["value", "initial_value"],
  rich_text_input: ["rich_text_value", "initial_value"], static_select: ["selected_option", "initial_option"],
  external_select: ["selected_option", "initial_option"], radio_buttons: ["selected_option", "initial_option"],
  users_select: ["selected_user", "initial_user"], channels_select: ["selected_channel", "initial_channel"],
  conversations_select: ["selected_conversation", "initial_conversation"],
  multi_static_select: ["selected_options", "initial_options"], multi_external_select: ["selected_options", "initial_options"],
  checkboxes: ["selected_options", "initial_options"], multi_users_select: ["selected_users", "initial_users"],
  multi_channels_select: ["selected_channels", "initial_channels"],
  multi_conversations_select: ["selected_conversations", "initial_conversations"], datepicker: ["selected_date", "initial_date"],
  timepicker: ["selected_time", "initial_time"], datetimepicker: ["selected_date_time", "initial_date_time"],
  file_input: ["files", "initial_files"],
};

const key = (e) => HELD[e.type][0];
const held = (e, b, ctx) => {
  const entry = ctx.get(b.block_id, e.action_id);
  return entry ? entry[key(e)] : e[HELD[e.type][1]];
};
const allOptions = (e) => [...(e.options ?? []), ...(e.option_groups ?? []).flatMap((g) => g.options)];
const same = (a, b) => a && b && a.value === b.value;

export function element(e, b, ctx) {
  const draw = {
    button, icon_button: button, workflow_button: button, overflow, feedback_buttons: feedback,
    static_select: select, users_select: select, channels_select: select, conversations_select: select,
    external_select: external, multi_static_select: multi, multi_users_select: multi, multi_channels_select: multi,
    multi_conversations_select: multi, multi_external_select: external, checkboxes: choices, radio_buttons: choices,
    datepicker: field, timepicker: field, datetimepicker: field, plain_text_input: field, number_input: field,
    email_text_input: field, url_text_input: field, rich_text_input: field,
    file_input: () => h("p", { class: "quiet" }, "Files cannot be uploaded in this workspace."),
  }[e.type];
  const node = draw ? draw(e, b, ctx) : h("span", { class: "quiet" }, `[${e.type}]`);
  node.dataset.action = e.action_id ?? "";
  return node;
}

function commit(e, b, ctx, value) {
  const entry = { type: e.type, [key(e)]: value };
  ctx.set(b.block_id, e.action_id, entry);
  if (b.type !== "input") ctx.act(e, b, entry);
  else if (b.dispatch_action) ctx.act(e, b, entry);
}

function button(e, b, ctx) {
  const label = plain(e.text);
  return h("button", {
    type: "button", class: `btn ${e.style ?? ""}`, "aria-label": e.accessibility_label,
    onclick: async (event) => {
      const pressed = event.currentTarget;
      if (e.url) window.open(e.url, "_blank", "noopener");
      if (pressed.classList.contains("busy")) return;
      if (e.confirm && !(await ctx.confirm(e.confirm))) return;
      pressed.classList.add("busy");
      await ctx.act(e, b, null);
      pressed.classList.remove("busy");
    },
  }, label);
}

function feedback(e, b, ctx) {
  return h("span", {}, [e.positive_button, e.negative_button].map((x) =>
    h("button", { type: "button", class: "btn", onclick: () => ctx.act(e, b, null) }, plain(x.text))));
}

function overflow(e, b, ctx) {
  const menu = h("details", { class: "overflow" }, h("summary", { class: "btn", "aria-label": "More actions", role: "button" }, "⋯"));
  menu.append(h("div", { class: "menu", role: "menu" }, e.options.map((option) => h("button", {
    type: "button", role: "menuitem",
    onclick: async () => {
      menu.open = false;
      if (option.url) window.open(option.url, "_blank", "noopener");
      if (e.confirm && !(await ctx.confirm(e.confirm))) return;
      ctx.act(e, b, { type: "overflow", selected_option: option });
    },
  }, plain(option.text), option.description && h("small", {}, plain(option.description))))));
  menu.addEventListener("toggle", () => {
    const list = menu.lastChild;
    menu.classList.remove("up");
    const frame = menu.closest(".stream, .modal-body, .home") ?? document.body;
    if (menu.open) menu.classList.toggle("up", list.getBoundingClientRect().bottom > frame.getBoundingClientRect().bottom);
  });
  menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
  menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); event.preventDefault(); menu.open = false; menu.firstChild.focus(); } });
  return menu;
}

function places(e, ctx) {
  if (e.type.includes("users_")) return ctx.people().map((u) => [u.id, u.real_name]);
  return ctx.channels().filter((c) => c.name).map((c) => [c.id, `#${c.name}`]);
}

function select(e, b, ctx) {
  const now = held(e, b, ctx);
  const isStatic = e.type === "static_select";
  const options = allOptions(e);
  const option = (o) => h("option", { value: o.value, selected: same(o, now) }, plain(o.text));
  const body = isStatic
    ? e.option_groups ? e.option_groups.map((g) => h("optgroup", { label: plain(g.label) }, g.options.map(option))) : options.map(option)
    : places(e, ctx).map(([id, label]) => h("option", { value: id, selected: id === now }, label));
  return h("select", {
    id: ctx.id(b, e), "aria-label": b.type === "input" ? null : plain(e.placeholder) || "Choose",
    onchange: async (event) => {
      const value = event.target.value;
      if (e.confirm && !(await ctx.confirm(e.confirm))) { event.target.value = ""; return; }
      commit(e, b, ctx, isStatic ? options.find((o) => o.value === value) ?? null : value || null);
    },
  }, h("option", { value: "", selected: !now }, plain(e.placeholder) || "Select…"), body);
}

function multi(e, b, ctx) {
  const isStatic = e.type === "multi_static_select";
  const entries = isStatic ? allOptions(e).map((o) => [o, plain(o.text), o.value]) : places(e, ctx).map(([id, l]) => [id, l, id]);
  return picker(e, b, ctx, entries, isStatic ? (a, x) => same(a, x) : (a, x) => a === x);
}

function picker(e, b, ctx, entries, equal) {
  const chosen = () => held(e, b, ctx) ?? [];
  const label = () => entries.filter(([v]) => chosen().some((c) => equal(c, v))).map(([, l]) => l).join(", ");
  const shown = h("summary", { class: "field", id: ctx.id(b, e), role: "button" }, label() || plain(e.placeholder) || "Select…");
  const box = h("details", { class: "picker" }, shown);
  box.append(h("div", { class: "menu" }, entries.map(([value, text]) => h("label", {}, h("input", {
    type: "checkbox", checked: chosen().some((c) => equal(c, value)),
    onchange: (event) => {
      const rest = chosen().filter((c) => !equal(c, value));
      const next = event.target.checked ? [...rest, value] : rest;
      if (e.max_selected_items && next.length > e.max_selected_items) { event.target.checked = false; return; }
      commit(e, b, ctx, next);
      shown.textContent = label() || plain(e.placeholder) || "Select…";
    },
  }), text))));
  return box;
}

function external(e, b, ctx) {
  const isMulti = e.type.startsWith("multi");
  const now = () => [held(e, b, ctx) ?? []].flat();
  const list = h("div", { class: "menu", role: "listbox", hidden: true });
  const chosen = h("div", { class: "chips" });
  const draw = () => chosen.replaceChildren(...now().map((o) => h("button", {
    type: "button", class: "chip", "aria-label": `Remove ${plain(o.text)}`,
    onclick: () => { commit(e, b, ctx, isMulti ? now().filter((x) => !same(x, o)) : null); draw(); },
  }, `${plain(o.text)} ✕`)));
  const search = h("input", {
    class: "field", id: ctx.id(b, e), placeholder: plain(e.placeholder) || "Search…", autocomplete: "off", role: "combobox", "aria-expanded": "false",
    oninput: async () => {
      if (search.value.length < (e.min_query_length ?? 3)) { list.hidden = true; return; }
      const found = await ctx.suggest(e, search.value);
      const options = [...(found.options ?? []), ...(found.option_groups ?? []).flatMap((g) => g.options)];
      list.replaceChildren(...(options.length ? options : [null]).map((o) => o === null ? h("p", { class: "quiet" }, "No results") : h("button", {
        type: "button", role: "option",
        onclick: () => { commit(e, b, ctx, isMulti ? [...now(), o] : o); search.value = ""; list.hidden = true; draw(); },
      }, plain(o.text))));
      list.hidden = false;
    },
    onfocus: () => { if ((e.min_query_length ?? 3) === 0) search.dispatchEvent(new Event("input")); },
  });
  draw();
  return h("div", { class: "external" }, chosen, search, list);
}

function choices(e, b, ctx) {
  const single = e.type === "radio_buttons";
  const name = ctx.id(b, e);
  const now = () => [held(e, b, ctx) ?? []].flat();
  return h("div", { class: "choices", id: name, role: single ? "radiogroup" : "group" }, e.options.map((o) => h("label", {}, h("input", {
    type: single ? "radio" : "checkbox", name, checked: now().some((c) => same(c, o)),
    onchange: (event) => {
      const rest = now().filter((c) => !same(c, o));
      commit(e, b, ctx, single ? o : event.target.checked ? [...rest, o] : rest);
    },
  }), h("span", {}, plain(o.text), o.description && h("small", {}, plain(o.description))))));
}

const TYPES = { datepicker: "date", timepicker: "time", datetimepicker: "datetime-local", number_input: "number", email_text_input: "email", url_text_input: "url" };
const richWords = (v) => (v?.elements ?? []).flatMap((s) => s.elements ?? []).map((x) => x.text ?? "").join("");
const localStamp = (at) => { const d = new Date(at * 1000); return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16); };

function field(e, b, ctx) {
  const now = held(e, b, ctx);
  const long = e.multiline || e.type === "rich_text_input";
  const shown = e.type === "rich_text_input" ? richWords(now) : e.type === "datetimepicker" && now ? localStamp(now) : now ?? "";
  const read = (text) => {
    if (!text) return null;
    if (e.type === "datetimepicker") return Math.floor(new Date(text) / 1000);
    if (e.type !== "rich_text_input") return text;
    return { type: "rich_text", elements: [{ type: "rich_text_section", elements: [{ type: "text", text }] }] };
  };
  const picks = e.type.endsWith("picker");
  return h(long ? "textarea" : "input", {
    id: ctx.id(b, e), class: "field", type: long ? null : TYPES[e.type] ?? "text", value: shown, rows: long ? 4 : null,
    placeholder: plain(e.placeholder), maxlength: e.max_length, min: e.min_value, max: e.max_value,
    step: e.type === "number_input" ? (e.is_decimal_allowed ? "any" : 1) : null, autofocus: e.focus_on_load, autocomplete: "off",
    "aria-label": b.type === "input" ? null : plain(e.placeholder) || e.type.replace("picker", ""),
    oninput: (event) => ctx.set(b.block_id, e.action_id, { type: e.type, [key(e)]: read(event.target.value) }),
    onchange: (event) => { if (picks || b.dispatch_action) commit(e, b, ctx, read(event.target.value)); },
  });
}

export function inputBlock(b, ctx) {
  const wrong = ctx.error(b.block_id);
  const id = ctx.id(b, b.element);
  const node = element(b.element, b, ctx);
  const target = node.id === id ? node : node.querySelector(`#${CSS.escape(id)}`) ?? node;
  target.setAttribute("aria-describedby", `${id}-said`);
  if (wrong) target.setAttribute("aria-invalid", "true");
  return h("div", { class: `b-input${wrong ? " wrong" : ""}` },
    h("label", { for: id }, plain(b.label), b.optional && h("span", { class: "quiet" }, " (optional)")), node,
    h("div", { id: `${id}-said` }, wrong && h("p", { class: "error", role: "alert" }, wrong), b.hint && h("p", { class: "hint" }, plain(b.hint))));
}
