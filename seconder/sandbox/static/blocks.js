// Blocks as Slack lays them out. What can be pressed or filled is drawn by elements.js.

import { element, inputBlock } from "./elements.js";
import { h, markdown, plain, richText, textObject } from "./text.js";

const DRAW = {
  header: (b) => h(`h${Math.min(6, (b.level ?? 1) + 2)}`, { class: "b-header" }, plain(b.text)),
  divider: () => h("hr", { class: "b-divider" }),
  section,
  context: (b, ctx) => h("div", { class: "b-context" }, b.elements.map((e) =>
    e.type === "image" ? h("img", { src: e.image_url, alt: e.alt_text }) : h("span", {}, textObject(e, ctx)))),
  actions: (b, ctx) => h("div", { class: "b-actions" }, b.elements.map((e) => element(e, b, ctx))),
  context_actions: (b, ctx) => h("div", { class: "b-actions" }, b.elements.map((e) => element(e, b, ctx))),
  image: (b) => h("figure", { class: "b-image" }, b.title && h("figcaption", {}, plain(b.title)),
    h("img", { src: b.image_url, alt: b.alt_text, loading: "lazy" })),
  rich_text: richText,
  markdown: (b) => markdown(b.text),
  table,
  data_table: table,
  alert: (b, ctx) => h("div", { class: `b-alert ${b.level ?? "default"}`, role: "note" }, h("span", { "aria-hidden": "true" },
    { info: "ℹ", warning: "⚠", error: "⛔", success: "✓" }[b.level] ?? "•"), h("div", {}, textObject(b.text, ctx))),
  card,
  carousel: (b, ctx) => h("div", { class: "b-carousel" }, b.elements.map((c) => card(c, ctx))),
  container: (b, ctx) => h("details", { class: "b-container", open: !b.default_collapsed },
    h("summary", {}, b.title ? textObject(b.title, ctx) : "Details"), blocks(b.child_blocks, ctx)),
  input: inputBlock,
  plan: (b, ctx) => h("div", { class: "b-plan" }, h("strong", {}, b.title), (b.tasks ?? []).map((t) => task(t, ctx))),
  task_card: task,
  video: (b) => h("div", { class: "b-card" }, h("strong", {}, plain(b.title)), h("a", { href: b.video_url }, b.alt_text)),
  file: (b) => h("div", { class: "b-context" }, `File ${b.external_id}`),
};

export function blocks(list, ctx) {
  return h("div", { class: "blocks" }, (list ?? []).map((b) => {
    const node = (DRAW[b.type] ?? (() => h("div", { class: "b-alert error" }, `Unknown block ${b.type}`)))(b, ctx);
    node.dataset.block = b.block_id ?? "";
    return node;
  }));
}

function section(b, ctx) {
  const accessory = b.accessory && (b.accessory.type === "image"
    ? h("img", { class: "accessory-image", src: b.accessory.image_url, alt: b.accessory.alt_text })
    : element(b.accessory, b, ctx));
  return h("div", { class: "b-section" },
    h("div", { class: "b-section-text" }, b.text && h("div", {}, textObject(b.text, ctx)),
      b.fields && h("div", { class: "b-fields" }, b.fields.map((f) => h("div", {}, textObject(f, ctx))))),
    accessory && h("div", { class: "b-accessory" }, accessory));
}

function cell(c, ctx) {
  if (c.type === "rich_text") return richText(c, ctx);
  return c.text ?? String(c.value ?? "");
}

function table(b, ctx) {
  const settings = b.column_settings ?? [];
  const style = (i) => `text-align:${settings[i]?.align ?? "left"}`;
  const [head, ...rows] = b.rows;
  return h("div", { class: "b-table", tabindex: "0", role: "region", "aria-label": b.caption ?? "Table" }, h("table", {},
    b.caption && h("caption", {}, b.caption),
    h("thead", {}, h("tr", {}, head.map((c, i) => h("th", { style: style(i), scope: "col" }, cell(c, ctx))))),
    h("tbody", {}, rows.map((r) => h("tr", {}, r.map((c, i) => h("td", { style: style(i) }, cell(c, ctx))))))));
}

function card(b, ctx) {
  return h("article", { class: "b-card" },
    b.hero_image && h("img", { class: "hero", src: b.hero_image.image_url, alt: b.hero_image.alt_text }),
    h("div", { class: "b-card-head" }, b.icon && h("img", { src: b.icon.image_url, alt: b.icon.alt_text }), h("div", {},
      b.title && h("strong", {}, textObject(b.title, ctx)), b.subtitle && h("small", {}, textObject(b.subtitle, ctx)))),
    b.body && h("div", {}, textObject(b.body, ctx)),
    b.actions && h("div", { class: "b-actions" }, b.actions.map((e) => element(e, b, ctx))));
}

function task(t, ctx) {
  const sign = { pending: "○", in_progress: "◔", complete: "✓", error: "✕" }[t.status] ?? "•";
  return h("div", { class: `b-task ${t.status}` }, h("span", { "aria-label": t.status }, sign), h("div", {}, t.title,
    t.details && richText(t.details, ctx), t.output && richText(t.output, ctx)));
}
