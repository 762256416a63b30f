import { act, fireEvent, screen } from '@testing-library/react'
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
    vi.stubGlobal('matchMedia', () => ({
      matches: false,
      addEventListener: () => undefined,
      removeEventListener: () => undefined,
    }))
    renderFeature(<Header />)
    await user.click(await screen.findByRole('button', { name: 'Open menu' }))
    expect(screen.getByRole('dialog', { name: 'Menu' })).toBeInTheDocument()
    await user.click(screen.getByRole('link', { name: 'FAQ' }))
    expect(screen.queryByRole('dialog')).not.toBeInTheDocument()
  })
})
