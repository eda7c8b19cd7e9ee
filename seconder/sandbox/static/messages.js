// The stream of messages, with day lines, threads, private replies and warnings.

import { blocks } from "./blocks.js";
import { context, desk, said, send } from "./desk.js";
import { date, h, mrkdwn, time } from "./text.js";

export function avatar(user, size = 36) {
  if (!user || user.is_bot) return h("img", { class: "avatar", src: "/static/mark.svg", alt: "", width: size, height: size });
  const initials = user.real_name.split(" ").map((word) => word[0]).join("").slice(0, 2);
  const node = h("span", { class: "avatar", "aria-hidden": "true", style: `--c:#${user.color};--s:${size}px` }, initials);
  return node;
}

function messageContext(message, hooks, inThread) {
  const typed = new Map();
  const where = `${desk.room} ${message.ts}`;
  return {
    ...context(), ...hooks,
    id: (b, e) => `${inThread ? "t" : "m"}${message.ts.replace(".", "")}-${b.block_id}-${e.action_id}`,
    get: (block, action) => typed.get(`${block} ${action}`), set: (block, action, entry) => typed.set(`${block} ${action}`, entry),
    error: () => null,
    suggest: (e, query) => send("/control/suggest", { user: desk.user, channel: desk.room, ts: message.ts, action_id: e.action_id, query }),
    act: async (e, b, entry) => {
      const body = { user: desk.user, channel: desk.room, ts: message.ts, action_id: e.action_id, block_id: b.block_id };
      const answer = await send("/control/press", { ...body, entry });
      const warning = said(answer);
      if (warning) desk.warnings.set(where, warning);
      else desk.warnings.delete(where);
      hooks.redraw();
    },
  };
}

function body(message, hooks, inThread) {
  const ctx = messageContext(message, hooks, inThread);
  if (message.subtype === "tombstone") return h("p", { class: "quiet" }, message.text);
  if (message.blocks?.length) return blocks(message.blocks, ctx);
  return h("div", { class: "blocks" }, mrkdwn(message.text ?? "", ctx));
}

function replies(message, hooks) {
  if (!message.reply_count) return null;
  const ctx = context();
  return h("button", { type: "button", class: "replies", onclick: () => hooks.openThread(message.ts) },
    (message.reply_users ?? []).slice(0, 4).map((id) => avatar(ctx.user(id), 22)),
    h("strong", {}, `${message.reply_count} ${message.reply_count === 1 ? "reply" : "replies"}`),
    h("span", { class: "quiet" }, `last at ${time(Number(message.latest_reply), ctx)}`));
}

export function messageNode(message, previous, hooks, inThread) {
  const ctx = context();
  const author = ctx.user(message.user);
  const at = Number(message.ts);
  const joined = previous && previous.user === message.user && at - Number(previous.ts) < 300 && !previous._viewer === !message._viewer
    && !message.blocks?.some((b) => b.type === "header") && !message._viewer;
  const warning = desk.warnings.get(`${desk.room} ${message.ts}`);
  return h("article", { class: `message${joined ? " joined" : ""}${message._viewer ? " private" : ""}`, "data-ts": message.ts,
    "aria-label": `${author?.real_name ?? message.user} at ${time(at, ctx)}` },
  h("div", { class: "gutter" }, joined ? h("time", {}, time(at, ctx)) : avatar(author)),
  h("div", { class: "content" },
    message._viewer && h("p", { class: "only" }, "Only visible to you"),
    !joined && h("div", { class: "by" }, h("strong", {}, author?.real_name ?? message.user), author?.is_bot && h("span", { class: "badge" }, "APP"),
      h("time", { title: date(at, "{date_long} {time_secs}", ctx) }, time(at, ctx))),
    body(message, hooks, inThread),
    message.edited && h("small", { class: "quiet" }, "(edited)"),
    warning && h("p", { class: "warning", role: "alert" }, h("span", { "aria-hidden": "true" }, "⚠ "), warning),
    !inThread && replies(message, hooks)),
  !inThread && !message._viewer && message.subtype !== "tombstone"
    && h("div", { class: "tools" }, h("button", { type: "button", "aria-label": "Reply in thread", title: "Reply in thread", onclick: () => hooks.openThread(message.ts) }, "💬")));
}

export function streamNodes(messages, hooks) {
  const ctx = context();
  const tops = messages.filter((m) => !m.thread_ts || m.thread_ts === m.ts || m.subtype === "thread_broadcast");
  if (!tops.length) return [h("p", { class: "empty" }, "Nothing has been said here yet.")];
  let day = null;
  let previous = null;
  return tops.flatMap((m) => {
    const its = date(Number(m.ts), "{day_divider_pretty}", ctx);
    const line = its === day ? null : h("div", { class: "day", role: "separator" }, h("span", {}, its));
    if (line) previous = null;
    const node = messageNode(m, previous, hooks, false);
    day = its;
    previous = m;
    return line ? [line, node] : [node];
  });
}

export function threadNodes(messages, root, hooks) {
  const all = messages.filter((m) => m.ts === root || m.thread_ts === root);
  const first = all.find((m) => m.ts === root);
  const rest = all.filter((m) => m.ts !== root);
  if (!first) return [h("p", { class: "empty" }, "This thread is gone.")];
  const count = h("div", { class: "day" }, h("span", {}, `${rest.length} ${rest.length === 1 ? "reply" : "replies"}`));
  return [messageNode(first, null, hooks, true), ...(rest.length ? [count] : []), ...rest.map((m, i) => messageNode(m, rest[i - 1], hooks, true))];
}
