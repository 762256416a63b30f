import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'

import { ImageWithFallback, PLACEHOLDER_IMAGE } from './image-with-fallback'

const image = () => screen.getByAltText('A stand')

it('shows the file itself where no rendered picture can be had, and the placeholder in place of both', () => {
  const { rerender } = render(
    <ImageWithFallback src="whole.png" srcSet="small.png 320w" sizes="50vw" alt="A stand" />,
  )
  expect(image()).toHaveAttribute('srcset', 'small.png 320w')
  expect(image()).toHaveAttribute('sizes', '50vw')
  expect(image()).toHaveAttribute('src', 'whole.png')
  fireEvent.error(image())
  expect(image()).not.toHaveAttribute('srcset')
  expect(image()).toHaveAttribute('src', 'whole.png')
  fireEvent.error(image())
  expect(image()).toHaveAttribute('src', PLACEHOLDER_IMAGE)
  rerender(<ImageWithFallback src="other.png" srcSet="other-small.png 320w" alt="A stand" />)
  expect(image()).toHaveAttribute('srcset', 'other-small.png 320w')
})

it('shows the placeholder in place of a picture that is not rendered', () => {
  render(<ImageWithFallback src="whole.svg" alt="A stand" />)
  fireEvent.error(image())
  expect(image()).toHaveAttribute('src', PLACEHOLDER_IMAGE)
})
