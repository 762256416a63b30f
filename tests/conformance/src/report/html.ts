import type { Check } from '../difference.ts'
import type { Outcome, State } from '../runner.ts'
import { interfaces, type Interface } from '../target.ts'
import { escape } from './escape.ts'
import { states, tally, type GroupReport, type Report } from './model.ts'
import { style } from './style.ts'

/** Returns the result as one page that needs nothing else. */
export function htmlReport(report: Report): string {
  const outcomes = report.groups.flatMap((group) => group.outcomes)
  const counts = tally(outcomes)
  const verdict = report.passed ? 'passed' : 'failed'
  const required = report.required.length > 0 ? report.required.join(', ') : 'that nothing differs'
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance of ${escape(report.url)}</title>
<style>${style}</style>
</head>
<body>
<header>
<h1>Does this URL keep Supabase’s promises?</h1>
<p class="url">${escape(report.url)}</p>
<p class="soft"><time datetime="${report.started}">${date(report.started)}</time>, ${(report.duration / 1000).toFixed(1)} s,
basalt-conformance ${escape(report.kit)}</p>
${report.about === '' ? '' : `<p>${escape(report.about)}</p>`}
<p><strong class="verdict ${verdict}">${verdict}</strong> <span class="soft">required: ${escape(required)}</span></p>
<p>${states.map((state) => `<span class="${tone(state)}">${counts[state]} ${state}</span>`).join(' · ')}</p>
</header>
<main>
${matrix(report.groups)}
${comparison(report)}
${selfCheck(report)}
${report.groups.map(section).join('\n')}
</main>
</body>
</html>
`
}

function matrix(groups: readonly GroupReport[]): string {
  const heads = states.map((state) => `<th scope="col">${state}</th>`).join('')
  const row = (name: string, outcomes: readonly Outcome[]) => {
    const counts = tally(outcomes)
    const cells = states.map((state) =>
      counts[state] === 0
        ? '<td class="zero">·</td>'
        : `<td class="${tone(state)}">${counts[state]}</td>`,
    )
    return `<tr>${name}${cells.join('')}</tr>`
  }
  const bodies = Object.entries(interfaces).flatMap(([name, { title }]) => {
    const own = groups.filter((group) => group.interface === (name as Interface))
    if (own.length === 0) return []
    const all = own.flatMap(({ outcomes }) => outcomes)
    const rows = own.map((group) =>
      row(`<td><a href="#${escape(group.name)}">${escape(group.title)}</a></td>`, group.outcomes),
    )
    return [`<tbody>${row(`<th scope="rowgroup">${title}</th>`, all)}${rows.join('')}</tbody>`]
  })
  const total = row(
    '<th scope="row">all</th>',
    groups.flatMap(({ outcomes }) => outcomes),
  )
  return `<h2>Features</h2>
<div class="wide"><table><thead><tr><th scope="col">feature</th>${heads}</tr></thead>
${bodies.join('\n')}<tfoot>${total}</tfoot></table></div>`
}

function section({ name, title, source, outcomes }: GroupReport): string {
  return `<section id="${escape(name)}"><h3>${escape(title)} <code>${escape(name)}</code></h3>
<p class="soft">Upstream: ${link(source)}</p>
${outcomes.map(item).join('\n')}</section>`
}

function item(outcome: Outcome): string {
  const { name, state, again, promise, source, reason, difference, checks, sights } = outcome
  const open = state === 'differs' ? ' open' : ''
  const all = [...(difference ? [difference] : []), ...checks]
  const why = reason === '' ? '' : `<p>Reason: ${escape(reason)}</p>`
  return `<details id="${escape(name)}"${open}><summary><b class="${tone(state)}">${state}</b> ${escape(name)}
<span>${escape(promise)}</span></summary><div class="body">${why}
<p class="soft">Promised by ${link(source)}${again ? '. Tried twice' : ''}</p>
${all.map(check).join('')}
${state !== 'holds' && sights.length > 0 ? traffic(outcome) : ''}</div></details>`
}

function check({ request, expected, got }: Check): string {
  return `<dl><dt>request</dt><dd><pre>${escape(request)}</pre></dd>
<dt>expected</dt><dd><pre>${escape(expected)}</pre></dd><dt>got</dt><dd><pre>${escape(got)}</pre></dd></dl>`
}

function traffic({ sights }: Outcome): string {
  const pairs = sights.map(
    ({ request, response }) =>
      `<pre>${escape([request, response].filter(Boolean).join('\n\n→ '))}</pre><p></p>`,
  )
  return `<details><summary>All ${sights.length} requests and messages</summary><div class="body">${pairs.join('')}</div></details>`
}

function comparison({ url, comparison }: Report): string {
  if (comparison === null) return ''
  const rows = comparison.contrasts.map(({ name, promise, here, there }) => {
    const side = (outcome: Outcome) => `<td class="${tone(outcome.state)}">${outcome.state}</td>`
    return `<tr><td><a href="#${escape(name)}">${escape(name)}</a><br><span class="soft">${escape(promise)}</span></td>${side(here)}${side(there)}</tr>`
  })
  return `<h2>Where two servers differ</h2><div class="wide"><table><thead><tr><th scope="col">case</th>
<th scope="col">${escape(url)}</th><th scope="col">${escape(comparison.url)}</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

function selfCheck({ selfCheck }: Report): string {
  if (selfCheck === null) return ''
  const { cases, runs, unnoticed } = selfCheck
  const items = unnoticed.map(({ name, spoil }) => `<li>${escape(`${name}: ${spoil}`)}</li>`)
  return `<h2>Self-check</h2><p>${cases} cases, ${runs} spoilt runs, ${unnoticed.length} not noticed</p><ul>${items.join('')}</ul>`
}

function link(source: string): string {
  return `<a href="${escape(source)}" rel="noreferrer">${escape(source.replace('https://', ''))}</a>`
}

function tone(state: State): string {
  return state.replace(' ', '-')
}

function date(started: string): string {
  return started.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')
}
