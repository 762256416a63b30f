import { readSession, removeSession, writeSession } from '@/lib/browser/browser-storage'

const STORAGE_KEY = 'drafts'

/** What was typed into a form, by the names of its fields. */
export type Draft = Record<string, string | boolean>

let kept: Map<string, Draft> | undefined

/** Returns what a form has in its fields; without passwords, which are stored nowhere. */
function valuesOf(form: HTMLFormElement) {
  const draft: Draft = {}
  for (const field of form.elements) {
    if (field instanceof HTMLInputElement && field.type === 'checkbox')
      draft[field.name] = field.checked
    else if (
      (field instanceof HTMLInputElement && field.type !== 'password') ||
      field instanceof HTMLTextAreaElement ||
      field instanceof HTMLSelectElement
    )
      draft[field.name] = field.value
  }
  return draft
}

/** Stores what was typed into the page's forms, those with a `data-draft`, for after a reload. */
export function keepDrafts() {
  const forms = [...document.querySelectorAll<HTMLFormElement>('form[data-draft]')]
  const drafts = forms.map((form) => [form.dataset.draft ?? '', valuesOf(form)] as const)
  writeSession(STORAGE_KEY, JSON.stringify([...keptDrafts(), ...drafts]))
}

function keptDrafts() {
  if (kept) return kept
  try {
    kept = new Map(JSON.parse(readSession(STORAGE_KEY) ?? '[]') as [string, Draft][])
  } catch {
    kept = new Map()
  }
  return kept
}

/** Returns what was typed into the form called `name` before the page was reloaded; undefined if it was not. */
export function draftOf(name: string): Draft | undefined {
  return keptDrafts().get(name)
}

/** Forgets a draft, once the form has it again. Those of other pages' forms stay for when their page is shown. */
export function forgetDraft(name: string) {
  const drafts = keptDrafts()
  if (!drafts.delete(name)) return
  if (drafts.size > 0) writeSession(STORAGE_KEY, JSON.stringify([...drafts]))
  else removeSession(STORAGE_KEY)
}
