/** Contrast is at least 7:1 throughout; no information is given by colour alone. */
export const HTML_STYLE = `
:root { --ink: #16202a; --soft: #45525f; --line: #cdd5dd; --band: #eef2f6; --alert: #9b1c1c; --accent: #0b4a78; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink); background: #fff;
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 1rem; }
.kind { margin: 0; color: var(--soft); }
h1 { margin: 0 0 .6rem; font-size: 1.9rem; line-height: 1.15; }
h2 { margin: 2.2rem 0 .6rem; font-size: 1.3rem; color: var(--accent); border-bottom: 1px solid var(--line); }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 0; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.notes { color: var(--soft); font-size: .87rem; max-width: 60rem; }
.notes p { margin: .3rem 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .35rem .5rem; list-style: none; margin: .8rem 0 0; padding: 0; }
nav a { display: block; padding: .2rem .6rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--accent);
  text-decoration: none; }
nav a:hover, nav a:focus { background: var(--band); text-decoration: underline; }
.blocks { columns: 2 24rem; column-gap: 2rem; }
.block { break-inside: avoid; margin-bottom: 1.1rem; }
.block h3 { margin: 0 0 .2rem; font-size: 1rem; }
.block ul { list-style: none; margin: 0; padding: 0; }
.block li { padding: .15rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
.block p { margin: .3rem 0; color: var(--soft); font-size: .87rem; }
.block p.stated { color: var(--ink); }
.block p.alert { color: var(--alert); }
.what { font-weight: 600; }
.detail { color: var(--soft); font-size: .87rem; }
.rest a { color: var(--accent); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 1rem 1.5rem; margin-bottom: 1rem; }
figure { margin: 0; break-inside: avoid; display: flex; flex-direction: column; justify-content: space-between; }
figcaption { font-size: .9rem; overflow-wrap: anywhere; }
figcaption .detail { display: block; font-size: .82rem; }
svg { width: 100%; height: auto; }
svg .band { fill: #dcebdf; }
svg polyline { fill: none; stroke: var(--line); stroke-width: .6; }
svg .line { stroke: var(--accent); stroke-width: 1.3; }
svg .second { stroke: var(--soft); stroke-width: 1.3; stroke-dasharray: 3 2; }
svg .dot { fill: var(--accent); }
svg .ring { fill: #fff; stroke: var(--soft); }
svg .diamond { fill: var(--alert); }
svg text { fill: var(--soft); font-size: 9px; }
.scroll { overflow-x: auto; margin-bottom: 1.2rem; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
.count { color: var(--soft); font-weight: 400; }
th, td { text-align: left; vertical-align: top; padding: .28rem .5rem; border-bottom: 1px solid var(--line); }
.short { white-space: nowrap; }
.long { overflow-wrap: anywhere; }
thead th { background: var(--band); border-bottom: 2px solid var(--line); }
tbody th { font-weight: 500; }
tbody th[scope="rowgroup"] { padding-top: .7rem; font-weight: 600; color: var(--accent); background: #f8fafc; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.alert { color: var(--alert); font-weight: 700; }
.incomplete { margin: .9rem 0 0; padding: .5rem .8rem; border: 2px solid var(--alert); border-radius: .4rem; }
.stated { font-weight: 600; }
.muted { color: var(--soft); }
footer { margin-top: 2rem; color: var(--soft); font-size: .85rem; border-top: 1px solid var(--line); }
@media (max-width: 40rem) {
  body { padding: 1rem; }
  h1 { font-size: 1.5rem; }
  nav ul { flex-wrap: nowrap; overflow-x: auto; padding-bottom: .4rem; }
  nav a { white-space: nowrap; }
  table { min-width: 42rem; }
}
@page { size: letter; margin: 15mm 12mm 16mm; @bottom-right { content: counter(page) " / " counter(pages); } }
@media print {
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  nav, .skip { display: none; }
  h2, h3 { break-after: avoid; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  thead th, tbody th[scope="rowgroup"] { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}`;
