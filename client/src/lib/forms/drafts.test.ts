import { beforeEach, expect, it, vi } from 'vitest'

beforeEach(() => {
  vi.resetModules()
  document.body.innerHTML = `
    <form data-draft="contact"><input name="name" value="Ada" /></form>
    <form data-draft="login"><input name="email" value="ada@club.example" /><input type="password" value="kick-off" /></form>`
})

/** Loads the page again after what was typed has been kept. */
async function reload() {
  const { keepDrafts } = await import('./drafts')
  keepDrafts()
  vi.resetModules()
  return import('./drafts')
}

it('keeps the drafts of forms that a page does not have, for when their page is shown', async () => {
  const page = await reload()
  expect(page.draftOf('login')).toEqual({ email: 'ada@club.example' })
  page.forgetDraft('login')
  vi.resetModules()
  const { draftOf } = await import('./drafts')
  expect(draftOf('login')).toBeUndefined()
  expect(draftOf('contact')).toEqual({ name: 'Ada' })
})

it('leaves nothing once all forms have theirs', async () => {
  const page = await reload()
  page.forgetDraft('login')
  page.forgetDraft('contact')
  expect(sessionStorage.length).toBe(0)
})
