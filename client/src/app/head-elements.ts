/** Sets the attributes of the element in `<head>` that `key` describes, and makes it where it is missing. */
export function setHeadElement(
  tag: 'link' | 'meta',
  key: [name: string, value: string],
  value: [name: string, value: string],
) {
  const found = document.head.querySelector(`${tag}[${key[0]}="${key[1]}"]`)
  const element = found ?? document.head.appendChild(document.createElement(tag))
  element.setAttribute(...key)
  element.setAttribute(...value)
}

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
  element.textContent = JSON.stringify({ '@context': 'https://schema.org', '@graph': items })
}
