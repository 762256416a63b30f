import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { stubIntersection } from '@/testing/intersection'

import { Vignette } from './vignette'

it('pauses while it is off the screen', () => {
  const { scrollTo, scrollAwayFrom } = stubIntersection()
  render(
    <Vignette title="Polls" text="Asked at the final whistle.">
      <p>Moving</p>
    </Vignette>,
  )
  const figure = screen.getByRole('figure')
  expect(figure).toHaveAttribute('data-paused', 'true')
  scrollTo(figure)
  expect(figure).toHaveAttribute('data-paused', 'false')
  scrollAwayFrom(figure)
  expect(figure).toHaveAttribute('data-paused', 'true')
})
