// Text as Slack shows it: plain text, mrkdwn, Markdown, rich text and dates. Builds nodes, never HTML strings.

export function h(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const EMOJI = {
  white_check_mark: "✅", heavy_check_mark: "✔️", x: "❌", warning: "⚠️", hourglass: "⌛", hourglass_flowing_sand: "⏳",
  clock1: "🕐", bell: "🔔", eyes: "👀", lock: "🔒", unlock: "🔓", no_entry: "⛔", no_entry_sign: "🚫", pencil: "📝",
  pencil2: "✏️", memo: "📝", robot_face: "🤖", rocket: "🚀", tada: "🎉", thumbsup: "👍", "+1": "👍", thumbsdown: "👎",
  "-1": "👎", raised_hand: "✋", wave: "👋", rotating_light: "🚨", information_source: "ℹ️", question: "❓",
  exclamation: "❗", money_with_wings: "💸", moneybag: "💰", email: "✉️", link: "🔗", mag: "🔍", arrow_right: "➡️",
  arrows_counterclockwise: "🔄", leftwards_arrow_with_hook: "↩️", large_green_circle: "🟢", large_yellow_circle: "🟡",
  red_circle: "🔴", large_blue_circle: "🔵", white_circle: "⚪", smile: "😄", slightly_smiling_face: "🙂", heart: "❤️",
  fire: "🔥", zap: "⚡", hammer: "🔨", wrench: "🔧", page_facing_up: "📄", package: "📦", shield: "🛡️", alarm_clock: "⏰",
  stopwatch: "⏱️", calendar: "📅", point_right: "👉", speech_balloon: "💬", bust_in_silhouette: "👤", key: "🔑",
};

const decode = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
const emojis = (text) => text.replace(/:([a-z0-9_+-]+):/g, (all, name) => EMOJI[name] ?? all);

export function plain(object) {
  if (!object) return "";
  const text = decode(typeof object === "string" ? object : object.text);
  return object.emoji === false ? text : emojis(text);
}

export function textObject(object, ctx) {
  if (!object) return "";
  if (object.type === "mrkdwn") return mrkdwn(object.text, ctx);
  return h("span", { class: "pre" }, plain(object));
}

function mention(label, known, mine) {
  return h("span", { class: `mention${known ? "" : " unknown"}${mine ? " mine" : ""}` }, label);
}

export const userMention = (id, ctx) =>
  mention(`@${ctx.user(id)?.profile.display_name ?? id}`, ctx.user(id), id === ctx.viewer);
export const channelMention = (id, ctx, label) => mention(`#${ctx.channel(id)?.name ?? label ?? id}`, ctx.channel(id));
export function groupMention(id, ctx) {
  const group = ctx.group(id);
  return mention(`@${group?.handle ?? id}`, group, group?.users?.includes(ctx.viewer));
}

export function link(url, label) {
  const safe = /^(https?:|mailto:|tel:|\/)/i.test(url);
  return safe ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, label ?? url) : h("span", {}, label ?? url);
}

function token(inside, ctx) {
  const bar = inside.indexOf("|");
  const head = bar < 0 ? inside : inside.slice(0, bar);
  const label = bar < 0 ? undefined : decode(inside.slice(bar + 1));
  if (head.startsWith("@")) return userMention(head.slice(1), ctx);
  if (head.startsWith("#")) return channelMention(head.slice(1), ctx, label);
  if (head.startsWith("!subteam^")) return groupMention(head.slice(9), ctx);
  if (head.startsWith("!date^")) {
    const [, at, format, url] = head.split("^");
    const shown = date(Number(at), format, ctx) || label;
    return url ? link(url, shown) : h("time", {}, shown);
  }
  if (head.startsWith("!")) return mention(`@${head.slice(1)}`, true, true);
  return link(decode(head), label);
}

const INLINE = [
  [/^`([^`\n]+)`/, (m) => h("code", {}, decode(m[1]))],
  [/^\*([^\s*](?:[^*\n]*[^\s*])?)\*(?![\p{L}\p{N}])/u, (m, ctx) => h("strong", {}, inline(m[1], ctx))],
  [/^_([^\s_](?:[^_\n]*[^\s_])?)_(?![\p{L}\p{N}])/u, (m, ctx) => h("em", {}, inline(m[1], ctx))],
  [/^~([^\s~](?:[^~\n]*[^\s~])?)~(?![\p{L}\p{N}])/u, (m, ctx) => h("s", {}, inline(m[1], ctx))],
];

function inline(text, ctx) {
  const out = [];
  let run = "";
  const flush = () => { if (run) out.push(emojis(decode(run))); run = ""; };
  for (let i = 0; i < text.length;) {
    const rest = text.slice(i);
    const tag = rest.match(/^<([^<>\n]+)>/);
    const bare = !run.match(/[\p{L}\p{N}]$/u) && rest.match(/^https?:\/\/[^\s<>|]+/);
    if (tag) { flush(); out.push(token(tag[1], ctx)); i += tag[0].length; continue; }
    if (bare) { flush(); out.push(link(decode(bare[0]))); i += bare[0].length; continue; }
    const open = /[*_~`]/.test(rest[0]) && !/[\p{L}\p{N}]$/u.test(run);
    const hit = open && INLINE.map(([re, make]) => [rest.match(re), make]).find(([m]) => m);
    if (hit) { flush(); out.push(hit[1](hit[0], ctx)); i += hit[0][0].length; continue; }
    run += rest[0];
    i += 1;
  }
  flush();
  return out;
}

export function mrkdwn(text, ctx) {
  const out = h("span", { class: "mrkdwn" });
  text.split(/```\n?/).forEach((part, index) => {
    if (index % 2) { out.append(h("pre", {}, decode(part))); return; }
    let quote = null;
    part.split("\n").forEach((line, n, lines) => {
      const quoted = line.match(/^(?:&gt;|>)\s?(.*)/);
      if (quoted) {
        if (!quote) out.append((quote = h("blockquote")));
        else quote.append(h("br"));
        quote.append(...inline(quoted[1], ctx));
        return;
      }
      const afterQuote = quote !== null;
      quote = null;
      if (n > 0 && !afterQuote) out.append(h("br"));
      out.append(...inline(n === lines.length - 1 ? line : line, ctx));
    });
  });
  return out;
}

export function markdown(text) {
  const out = h("div", { class: "markdown" });
  const words = (line) => line.split(/(\*\*[^*]+\*\*|`[^`]+`|\*[^*]+\*|\[[^\]]+\]\([^)\s]+\))/).map((part) => {
    const named = part.match(/^\[([^\]]+)\]\(([^)\s]+)\)$/);
    if (named) return link(named[2], named[1]);
    if (/^\*\*.+\*\*$/.test(part)) return h("strong", {}, part.slice(2, -2));
    if (/^`.+`$/.test(part)) return h("code", {}, part.slice(1, -1));
    return /^\*.+\*$/.test(part) ? h("em", {}, part.slice(1, -1)) : part;
  });
  text.split(/```[a-z]*\n?/).forEach((part, index) => {
    if (index % 2) { out.append(h("pre", {}, part)); return; }
    let list = null;
    for (const line of part.split("\n")) {
      const head = line.match(/^(#{1,6})\s+(.*)/);
      const item = line.match(/^\s*(?:[-*]|(\d+)\.)\s+(.*)/);
      const quote = line.match(/^>\s?(.*)/);
      if (item) {
        if (!list) out.append((list = h(item[1] ? "ol" : "ul")));
        list.append(h("li", {}, words(item[2])));
        continue;
      }
      list = null;
      if (head) out.append(h(`h${Math.min(6, head[1].length + 2)}`, {}, words(head[2])));
      else if (quote) out.append(h("blockquote", {}, words(quote[1])));
      else if (line.trim()) out.append(h("p", {}, words(line)));
    }
  });
  return out;
}

const parts = (at, tz, options) => new Intl.DateTimeFormat("en-GB", { timeZone: tz, ...options }).format(new Date(at * 1000));

export const time = (at, ctx, seconds) =>
  parts(at, ctx.tz, { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) });

function ago(at, now) {
  const late = now - at;
  const [size, name] = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]].find(([s]) => Math.abs(late) >= s) ?? [1, "second"];
  const count = Math.round(Math.abs(late) / size);
  const said = `${count} ${name}${count === 1 ? "" : "s"}`;
  return late >= 0 ? `${said} ago` : `in ${said}`;
}

export function date(at, format, ctx) {
  if (!Number.isFinite(at)) return "";
  const day = (t) => parts(t, ctx.tz, { year: "numeric", month: "2-digit", day: "2-digit" });
  const now = ctx.now();
  const near = [["today", 0], ["yesterday", -86400], ["tomorrow", 86400]].find(([, off]) => day(at) === day(now + off));
  const long = () => parts(at, ctx.tz, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
  const full = () => parts(at, ctx.tz, { day: "numeric", month: "long", year: "numeric" });
  const short = () => parts(at, ctx.tz, { day: "numeric", month: "short", year: "numeric" });
  const brief = () => parts(at, ctx.tz, { day: "numeric", month: "long" });
  const forms = {
    date_num: () => day(at).split("/").reverse().join("-"), date_slash: () => day(at), date_long: long,
    date_long_full: full, date: brief, date_short: short, date_long_pretty: () => near?.[0] ?? long(),
    date_pretty: () => near?.[0] ?? brief(), date_short_pretty: () => near?.[0] ?? short(),
    day_divider_pretty: () => near?.[0] ?? long(), time: () => time(at, ctx), time_secs: () => time(at, ctx, true),
    ago: () => ago(at, now),
  };
  return format.replace(/\{(\w+)\}/g, (all, name) => forms[name]?.() ?? all);
}

function richLeaf(e, ctx) {
  if (e.type === "text") return styled(h("span", { class: "pre" }, e.text), e.style);
  if (e.type === "link") return styled(link(e.url, e.text), e.style);
  if (e.type === "user") return userMention(e.user_id, ctx);
  if (e.type === "usergroup") return groupMention(e.usergroup_id, ctx);
  if (e.type === "channel") return channelMention(e.channel_id, ctx);
  if (e.type === "broadcast") return mention(`@${e.range}`, true, true);
  if (e.type === "emoji") return EMOJI[e.name] ?? `:${e.name}:`;
  if (e.type === "date") {
    const shown = date(e.timestamp, e.format, ctx) || e.fallback;
    return styled(e.url ? link(e.url, shown) : h("time", { title: e.fallback }, shown), e.style);
  }
  if (e.type === "color") return h("span", { class: "colour" }, h("i", { style: `background:${e.value}` }), e.value);
  return "";
}

function styled(node, style = {}) {
  const tags = { bold: "strong", italic: "em", strike: "s", code: "code", underline: "u" };
  return Object.entries(tags).reduce((inner, [name, tag]) => (style?.[name] ? h(tag, {}, inner) : inner), node);
}

export function richText(block, ctx) {
  const draw = (e) => {
    if (e.type === "rich_text_section") return h("div", { class: "rich-section" }, e.elements.map((x) => richLeaf(x, ctx)));
    if (e.type === "rich_text_preformatted") return h("pre", {}, e.elements.map((x) => richLeaf(x, ctx)));
    if (e.type === "rich_text_quote") return h("blockquote", {}, e.elements.map((x) => richLeaf(x, ctx)));
    if (e.type !== "rich_text_list") return "";
    const list = h(e.style === "ordered" ? "ol" : "ul", { class: e.border ? "bordered" : null }, e.elements.map((x) => h("li", {}, draw(x))));
    list.style.marginInlineStart = `${(e.indent ?? 0) * 1.4}em`;
    return list;
  };
  return h("div", { class: "rich" }, block.elements.map(draw));
}
