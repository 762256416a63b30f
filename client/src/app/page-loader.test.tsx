import { screen, waitFor } from '@testing-library/react'
import { Route, Routes } from 'react-router-dom'
import { beforeEach, expect, it, vi } from 'vitest'

import { Link } from '@/components/layout/link'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { PageLoader } from './page-loader'

const pages = vi.hoisted(() => ({ isPageLoaded: vi.fn(), loadPage: vi.fn() }))
vi.mock('./pages', () => pages)

const onClick = vi.fn()

beforeEach(() => {
  pages.isPageLoaded.mockReturnValue(false)
  pages.loadPage.mockReset()
  onClick.mockClear()
  renderFeature(
    <>
      <PageLoader />
      <Routes>
        <Route
          path="/"
          element={
            <Link to="/about#investors" onClick={onClick}>
              About
            </Link>
          }
        />
        <Route path="/about" element={<p>All about us</p>} />
      </Routes>
    </>,
  )
})

const follow = () => user.click(screen.getByRole('link', { name: 'About' }))

it('leaves the page once the next one is loaded', async () => {
  let arrive: () => void = () => undefined
  pages.loadPage.mockReturnValue(new Promise<void>((resolve) => (arrive = resolve)))
  await follow()
  expect(pages.loadPage).toHaveBeenCalledExactlyOnceWith('/about')
  expect(onClick).toHaveBeenCalledOnce()
  expect(screen.queryByText('All about us')).toBeNull()
  arrive()
  expect(await screen.findByText('All about us')).toBeInTheDocument()
})

it('stays on the page if the next one cannot be loaded, and tries again', async () => {
  vi.spyOn(console, 'error').mockReturnValue()
  vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false)
  pages.loadPage.mockRejectedValueOnce(new Error('offline')).mockResolvedValue(undefined)
  await follow()
  expect(await screen.findByText('No connection')).toBeInTheDocument()
  expect(screen.getByRole('link', { name: 'About' })).toBeInTheDocument()
  await follow()
  await waitFor(() => expect(screen.getByText('All about us')).toBeInTheDocument())
})

it('leaves links alone whose page is loaded', async () => {
  pages.isPageLoaded.mockReturnValue(true)
  await follow()
  expect(pages.loadPage).not.toHaveBeenCalled()
  expect(screen.getByText('All about us')).toBeInTheDocument()
})
