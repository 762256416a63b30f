import { jsonLdDocument, type HeadElement } from './head'

/** Puts `elements` into `<head>`, each in place of the one with its key. */
export function setHeadElements(elements: readonly HeadElement[]) {
  for (const { tag, key, value } of elements) {
    const found = document.head.querySelector(`${tag}[${key[0]}="${key[1]}"]`)
    const element = found ?? document.head.appendChild(document.createElement(tag))
    element.setAttribute(...key)
    element.setAttribute(...value)
  }
}

/** Whether `<head>` speaks of the page at `url`, because the server wrote it or the page itself has. */
export function isHeadOf(url: string) {
  return document.head.querySelector('link[rel="canonical"]')?.getAttribute('href') === url
}

/** The script in `<head>` with structured data, whoever wrote it. */
const JSON_LD_ID = 'json-ld'

/** Puts structured data into `<head>`, in place of what was there; takes it away again for an empty list. */
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
