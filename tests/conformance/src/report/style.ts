/** The style of the report's page. */
export const style = `
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --ground: #fff; --panel: #f6f8fa; --line: #d0d7de;
  --holds: #1a7f37; --differs: #cf222e; --absent: #9a6700; --untried: #6e7781; --link: #0969da; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9ba5b0; --ground: #0d1117; --panel: #161b22; --line: #30363d;
    --holds: #3fb950; --differs: #ff7b72; --absent: #d9a62e; --untried: #9198a1; --link: #58a6ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 64rem; color: var(--text); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .25rem; font-size: 1.6rem; line-height: 1.2; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem; }
h3 { margin: 1.75rem 0 .5rem; font-size: 1rem; }
h3 code { color: var(--soft); font-weight: 400; }
p { margin: .25rem 0; }
.soft { color: var(--soft); }
.url { overflow-wrap: anywhere; }
a { color: var(--link); overflow-wrap: anywhere; }
.verdict { display: inline-block; margin: .75rem 0; padding: .25rem .75rem; border-radius: 1rem; color: var(--ground);
  font-weight: 600; }
.verdict.passed { background: var(--holds); } .verdict.failed { background: var(--differs); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
thead th { color: var(--soft); font-weight: 500; white-space: nowrap; }
tbody th[colspan] { padding-top: 1rem; }
tfoot td, tfoot th { border: 0; font-weight: 600; }
tbody th { font-weight: 600; }
.zero { color: var(--line); }
.holds { color: var(--holds); } .differs { color: var(--differs); } .absent { color: var(--absent); }
.not-tried { color: var(--untried); }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .3rem 0; }
summary { padding: .45rem .7rem; cursor: pointer; overflow-wrap: anywhere; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
summary b { display: inline-block; min-width: 5rem; font-weight: 600; }
summary span { color: var(--soft); }
.body { padding: .25rem .7rem .8rem; border-top: 1px solid var(--line); }
dl { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .35rem .75rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; }
pre { margin: 0; padding: .4rem .6rem; border-radius: .3rem; background: var(--panel); white-space: pre-wrap;
  overflow-wrap: anywhere; font: .8rem/1.45 ui-monospace, monospace; }
.body > details { border-style: dashed; }
@media (max-width: 36rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: .15rem; } dd { margin-bottom: .4rem; }
  th, td { padding: .35rem .35rem; font-size: .9rem; }
}
@media print { details:not([open]) > .body { display: none; } }
`
