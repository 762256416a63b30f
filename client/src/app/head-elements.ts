import { jsonLdDocument, type HeadElement } from './head'

/** Adds `elements` to `<head>`; each replaces the one with its key. */
export function setHeadElements(elements: readonly HeadElement[]) {
  for (const { tag, key, value } of elements) {
    const found = document.head.querySelector(`${tag}[${key[0]}="${key[1]}"]`)
    const element = found ?? document.head.appendChild(document.createElement(tag))
    element.setAttribute(...key)
    element.setAttribute(...value)
  }
}

/** Reports whether `<head>` belongs to the page at `url`, written by the server or by the page itself. */
export function isHeadOf(url: string) {
  return document.head.querySelector('link[rel="canonical"]')?.getAttribute('href') === url
}

/** Returns the script in `<head>` with structured data. */
const JSON_LD_ID = 'json-ld'

/** Replaces the structured data in `<head>`; removes it for an empty list. */
export function setJsonLd(items: readonly object[]) {
  const found = document.getElementById(JSON_LD_ID)
  if (items.length === 0) {
    found?.remove()
    return
  }
  const element = found ?? document.head.appendChild(document.createElement('script'))
  element.id = JSON_LD_ID
  element.setAttribute('type', 'application/ld+json')
  element.textContent = JSON.stringify(jsonLdDocument(items))
}
