import { checkText } from '@shared/text'
import { fireEvent, screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'

import { CONTACT } from '@/lib/constants'
import { onSuggestedMessage } from '@/lib/forms/suggested-message'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import { Calculator } from './calculator'

const slider = (name: string) => screen.getByRole('slider', { name })

describe('the calculator', () => {
  it('says what a year brings, and a bad one', () => {
    renderFeature(<Calculator />)
    expect(screen.getByRole('status')).toHaveTextContent('£370,000 for the club')
    expect(screen.getByText('Half the revenue')).toHaveTextContent('£310,000')
    expect(screen.getByText('No revenue at all')).toHaveTextContent('£250,000')
  })

  it('follows its sliders, which say their values', () => {
    renderFeature(<Calculator />)
    fireEvent.change(slider('Fans in the app'), { target: { value: '6' } })
    fireEvent.change(slider('Your share of the revenue'), { target: { value: '0' } })
    expect(slider('Fans in the app')).toHaveAttribute('aria-valuetext', '100,000')
    expect(slider('Your share of the revenue')).toHaveAttribute('aria-valuetext', '5%')
    expect(screen.getByRole('status')).toHaveTextContent('£310,000')
  })

  it('suggests a message that the contact form takes', async () => {
    const suggested = vi.fn()
    const end = onSuggestedMessage(suggested)
    renderFeature(<Calculator />)
    await user.click(screen.getByRole('link', { name: 'Ask for these figures' }))
    end()
    const [text] = suggested.mock.calls[0] as [string]
    expect(text).toContain('50,000 fans in the app, £12 of revenue per fan and year')
    expect(text).toContain('£250,000 a year and a share of 20%')
    expect(text).toContain('£370,000 a year for the club')
    const rules = { label: 'Message', ...CONTACT.message, allowsSpecialCharacters: true }
    expect(checkText(text, rules)).toBeUndefined()
  })
})
