import { render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { split } from './split'

const Part = () => <p>A part</p>

interface Module {
  default: typeof Part
}

it('shows a part that was loaded before without a gap', async () => {
  const Split = split(() => Promise.resolve({ default: Part }))
  await Split.load()
  render(<Split />)
  expect(screen.getByText('A part')).toBeInTheDocument()
})

it('opens once the part is loaded', async () => {
  let arrive: () => void = () => undefined
  const Split = split(
    () => new Promise<Module>((resolve) => (arrive = () => resolve({ default: Part }))),
  )
  const show = vi.fn()
  Split.open(show)
  expect(show).not.toHaveBeenCalled()
  arrive()
  await vi.waitFor(() => expect(show).toHaveBeenCalledOnce())
})

it('stays closed if the part cannot be loaded, and tries again the next time', async () => {
  const log = vi.spyOn(console, 'error').mockReturnValue()
  const load = vi.fn(() => Promise.reject<Module>(new TypeError('offline')))
  const Split = split(load)
  const show = vi.fn()
  Split.open(show)
  await vi.waitFor(() => expect(log).toHaveBeenCalledOnce())
  load.mockResolvedValueOnce({ default: Part })
  Split.open(show)
  await vi.waitFor(() => expect(show).toHaveBeenCalledOnce())
})
