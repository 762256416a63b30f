/** A page of the site to which a reply leads. */
export interface ReplyLink {
  /** What the page is to the reply, such as "Source". */
  label: string
  title: string
  path: string
}

/** A line of nothing but a label and a link to a page of this site, as the assistant ends its replies with. */
const LINE = /^([^[\]:]{1,40}): \[(.+)\]\((\/(?:[a-z0-9][a-z0-9/-]*)?(?:#[a-z0-9-]+)?)\)$/i

/** Splits a reply into its text and the links at its end. */
export function splitLinks(reply: string): { text: string; links: ReplyLink[] } {
  const lines = reply.trimEnd().split('\n')
  const links: ReplyLink[] = []
  for (;;) {
    const last = lines.at(-1)
    if (last === undefined) break
    const [, label, title, path] = LINE.exec(last.trim()) ?? []
    if (label !== undefined && title !== undefined && path !== undefined) {
      links.unshift({ label, title: title.replace(/\\([\\`*_[\]<>|~])/g, '$1'), path })
    } else if (last.trim() !== '') break
    lines.pop()
  }
  return { text: lines.join('\n').trimEnd(), links }
}
