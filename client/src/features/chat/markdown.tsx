import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { useMemo } from 'react'

const ALLOWED_TAGS = [
  'p',
  'br',
  'strong',
  'em',
  'b',
  'i',
  'ul',
  'ol',
  'li',
  'code',
  'pre',
  'blockquote',
]

/** Returns Markdown as HTML that has no other elements than simple formatting, and no attributes. */
export function renderMarkdown(text: string) {
  const html = marked.parse(text, { async: false, breaks: true })
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS,
    ALLOWED_ATTR: [],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  })
}

/** Shows a reply of the assistant as formatted text. */
export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => renderMarkdown(text), [text])
  return (
    <div
      className="flex flex-col gap-2 wrap-anywhere [&_blockquote]:border-l-4 [&_blockquote]:border-line [&_blockquote]:pl-3 [&_code]:rounded-sm [&_code]:bg-mist [&_code]:px-1 [&_code]:text-label [&_ol]:list-decimal [&_ol]:pl-5 [&_pre]:overflow-x-auto [&_pre]:rounded-md [&_pre]:bg-mist [&_pre]:p-3 [&_ul]:list-disc [&_ul]:pl-5"
      dangerouslySetInnerHTML={{ __html: html }}
    />
  )
}
