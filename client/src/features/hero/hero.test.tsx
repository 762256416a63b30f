import { act, fireEvent, screen, waitFor } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { FALLBACK_HEADLINES } from './copy'
import { Hero } from './hero'

function video() {
  return screen.getByLabelText<HTMLVideoElement>(/^Silent demo/)
}

describe('the headline', () => {
  it('is read from the database, visible rows in their order', async () => {
    const requests = stubBackend({ hero_headlines: [{ headline: 'From the database' }] })
    renderFeature(<Hero />)
    expect(
      await screen.findByText('From the database', { selector: '.sr-only' }),
    ).toBeInTheDocument()
    const query = requests.find(({ table }) => table === 'hero_headlines')?.query
    expect(query?.get('is_visible')).toBe('eq.true')
    expect(query?.get('order')).toBe('order_index.asc')
  })

  it.each([['an empty table', []] as const, ['a failing backend', 'failure'] as const])(
    'falls back to its own phrases on %s',
    async (_case, rows) => {
      stubBackend({ hero_headlines: rows })
      renderFeature(<Hero />)
      expect(
        await screen.findByText(FALLBACK_HEADLINES[0] ?? '', { selector: '.sr-only' }),
      ).toBeInTheDocument()
    },
  )
})

it('begins without the stored headlines if they load slowly', async () => {
  vi.useFakeTimers()
  let respond: (response: Response) => void = () => undefined
  stubBackend({}, { hero_headlines: () => new Promise((resolve) => (respond = resolve)) })
  renderFeature(<Hero />)
  const headline = (text: string) => screen.queryByText(text, { selector: '.sr-only' })
  await act(() => vi.advanceTimersByTimeAsync(1499))
  expect(headline(FALLBACK_HEADLINES[0] ?? '')).toBeNull()
  await act(() => vi.advanceTimersByTimeAsync(1))
  expect(headline(FALLBACK_HEADLINES[0] ?? '')).toBeInTheDocument()
  respond(jsonResponse([{ headline: 'Late, but here' }], 200))
  await act(() => vi.advanceTimersByTimeAsync(100))
  expect(headline('Late, but here')).toBeInTheDocument()
})

describe('the demo video', () => {
  it('plays without being asked', async () => {
    stubBackend()
    renderFeature(<Hero />)
    await waitFor(() => expect(video().play).toHaveBeenCalledOnce())
  })

  it('asks for a click where the browser refuses to start it', async () => {
    stubBackend()
    vi.mocked(HTMLMediaElement.prototype.play).mockRejectedValueOnce(
      new DOMException('needs a gesture', 'NotAllowedError'),
    )
    renderFeature(<Hero />)
    expect(await screen.findByText('Click to play video')).toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Play Video' }))
    expect(video().play).toHaveBeenCalledTimes(2)
  })

  it('offers another try where the file does not come, and says so in a toast', async () => {
    stubBackend()
    renderFeature(<Hero />)
    fireEvent.error(video())
    expect(screen.getByText('Failed to load video - click to retry')).toBeInTheDocument()
    expect(await screen.findByText('Video Error')).toBeInTheDocument()
    expect(screen.getByText('Unable to play video content')).toBeInTheDocument()
    fireEvent.playing(video())
    await waitFor(() => expect(screen.queryByText('Video Error')).toBeNull())
  })

  it('says so where it breaks off while playing', () => {
    stubBackend()
    renderFeature(<Hero />)
    fireEvent.playing(video())
    fireEvent.error(video())
    expect(screen.getByText('Video error - click to retry')).toBeInTheDocument()
  })

  it('says so where the browser cannot play it', async () => {
    stubBackend()
    vi.mocked(HTMLMediaElement.prototype.play).mockRejectedValueOnce(
      new DOMException('no codec', 'NotSupportedError'),
    )
    renderFeature(<Hero />)
    expect(await screen.findByText('Unable to play video')).toBeInTheDocument()
  })

  it('can be paused', async () => {
    stubBackend()
    renderFeature(<Hero />)
    fireEvent.playing(video())
    await user.click(screen.getByRole('button', { name: 'Pause animation' }))
    expect(video().pause).toHaveBeenCalled()
    expect(screen.getByRole('button', { name: 'Play Video' })).toBeInTheDocument()
  })
})
