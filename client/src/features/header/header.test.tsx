import { act, fireEvent, screen, within } from '@testing-library/react'
import { afterEach, describe, expect, it, vi } from 'vitest'

import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Header } from './header'

function scrollTo(y: number) {
  vi.stubGlobal('scrollY', y)
  act(() => void fireEvent.scroll(window))
}

describe('Header', () => {
  afterEach(() => vi.unstubAllGlobals())

  it('turns white once the page is scrolled by more than ten pixels', () => {
    renderFeature(<Header />)
    const header = screen.getByRole('banner')
    scrollTo(10)
    expect(header).toHaveAttribute('data-solid', 'false')
    scrollTo(11)
    expect(header).toHaveAttribute('data-solid', 'true')
  })

  it('keeps its links in a menu on small screens, which closes once one is followed', async () => {
    renderFeature(<Header />)
    const button = screen.getByRole('button', { name: 'Open menu' })
    await user.click(button)
    const menu = within(await screen.findByRole('dialog', { name: 'Menu' }))
    // The dialog takes the pointer a moment after it is there.
    await vi.waitFor(() => user.click(menu.getByRole('link', { name: 'FAQ' })))
    expect(screen.queryByRole('dialog')).not.toBeInTheDocument()
    await vi.waitFor(() => expect(button).toHaveFocus())
  })
})
