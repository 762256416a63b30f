import { act, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import * as z from 'zod/mini'

import { noticeStore } from '@/lib/notices/notify'

import { keepDrafts } from './drafts'
import { useLateForm } from './use-late-form'

const EMPTY = { name: '', consent: false }

const schema = z.object({
  name: z.string().check(z.minLength(2, 'Too short')),
  consent: z.boolean(),
})

interface FormProps {
  load?: () => Promise<{ rules: typeof schema }>
  onValid?: (values: typeof EMPTY) => Promise<void>
}

function Form({
  load = () => Promise.resolve({ rules: schema }),
  onValid = () => Promise.resolve(),
}: FormProps) {
  const form = useLateForm({ name: 'test', empty: EMPTY, load })
  return (
    <form {...form.formProps({ onValid, onInvalid: vi.fn() })}>
      <input aria-label="Name" {...form.register('name')} />
      <input aria-label="Consent" type="checkbox" {...form.register('consent')} />
      <p>{form.errors.name?.message}</p>
      <output>{form.values.name}</output>
      <button disabled={form.isSubmitting}>Send</button>
    </form>
  )
}

const name = () => screen.getByLabelText<HTMLInputElement>('Name')
const send = () => screen.getByRole('button', { name: 'Send' })

it('takes over what was typed before its scripts came, in the same fields', async () => {
  let arrive: (code: { rules: typeof schema }) => void = () => {}
  const onValid = vi.fn(() => Promise.resolve())
  const load = () => new Promise<{ rules: typeof schema }>((resolve) => (arrive = resolve))
  render(<Form load={load} onValid={onValid} />)
  const field = name()
  field.focus()
  fireEvent.change(field, { target: { value: 'Ada' } })
  fireEvent.click(screen.getByLabelText('Consent'))
  fireEvent.click(send())
  fireEvent.click(send())
  await act(() => vi.advanceTimersByTimeAsync(100))
  expect(onValid).not.toHaveBeenCalled()
  act(() => arrive({ rules: schema }))
  await waitFor(() => expect(onValid).toHaveBeenCalled())
  expect(name()).toBe(field)
  expect(field).toHaveValue('Ada')
  expect(field).toHaveFocus()
  expect(onValid).toHaveBeenCalledExactlyOnceWith({ name: 'Ada', consent: true }, { rules: schema })
})

it('loads nothing before it is touched', () => {
  const load = vi.fn(() => Promise.resolve({ rules: schema }))
  render(<Form load={load} />)
  expect(load).not.toHaveBeenCalled()
  name().focus()
  name().blur()
  name().focus()
  expect(load).toHaveBeenCalledOnce()
})

it('says what is wrong, leads there, and takes it back once it is right', async () => {
  render(<Form />)
  fireEvent.click(send())
  expect(await screen.findByText('Too short')).toBeInTheDocument()
  await waitFor(() => expect(name()).toHaveFocus())
  fireEvent.change(name(), { target: { value: 'Ada' } })
  await waitFor(() => expect(screen.queryByText('Too short')).toBeNull())
})

it('says that its scripts cannot be had, and tries again when it is sent again', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  const onValid = vi.fn(() => Promise.resolve())
  const load = vi
    .fn(() => Promise.resolve({ rules: schema }))
    .mockRejectedValueOnce(new Error('offline'))
  render(<Form load={load} onValid={onValid} />)
  fireEvent.change(name(), { target: { value: 'Ada' } })
  fireEvent.click(send())
  const titles = () => noticeStore.snapshot().map(({ title }) => title)
  await waitFor(() => expect(titles()).toEqual(['No connection']))
  fireEvent.click(send())
  await waitFor(() => expect(onValid).toHaveBeenCalledOnce())
  expect(name()).toHaveValue('Ada')
})

it('knows what is typed although its scripts cannot be had', () => {
  const load = () => Promise.reject(new Error('offline'))
  render(<Form load={load} />)
  fireEvent.change(name(), { target: { value: 'Ada' } })
  expect(screen.getByRole('status')).toHaveTextContent('Ada')
})

it('has what was typed before the page was reloaded', async () => {
  const page = render(<Form />)
  fireEvent.change(name(), { target: { value: 'Ada' } })
  fireEvent.click(screen.getByLabelText('Consent'))
  keepDrafts()
  page.unmount()
  vi.resetModules()
  const fresh = await import('./use-late-form')
  const Reloaded = () => {
    const form = fresh.useLateForm({
      name: 'test',
      empty: EMPTY,
      load: () => Promise.resolve({ rules: schema }),
    })
    return (
      <form {...form.formProps({ onValid: () => Promise.resolve(), onInvalid: vi.fn() })}>
        <input aria-label="Name" {...form.register('name')} />
        <input aria-label="Consent" type="checkbox" {...form.register('consent')} />
        <output>{form.values.name}</output>
      </form>
    )
  }
  render(<Reloaded />)
  expect(name()).toHaveValue('Ada')
  expect(screen.getByLabelText('Consent')).toBeChecked()
  expect(screen.getByRole('status')).toHaveTextContent('Ada')
  expect(sessionStorage.getItem('drafts')).toBeNull()
})
