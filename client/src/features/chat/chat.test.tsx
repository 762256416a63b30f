import { act, screen, waitFor, within } from '@testing-library/react'
import { useState } from 'react'
import { describe, expect, it, vi } from 'vitest'

import { jsonResponse, stubBackend } from '@/testing/backend'
import { renderFeature } from '@/testing/render'
import { user } from '@/testing/user'

import './chat-panel'
import { ChatWidget } from './chat-widget'
import { greeting } from './copy'
import { renderMarkdown } from './markdown'

const WELCOME = 'Welcome to the **terrace**.'
const QUESTIONS = [
  { id: '1', question: 'What does it cost?', order_index: 0 },
  { id: '2', question: 'Who owns the data?', order_index: 1 },
]

type Answer = () => Response | Promise<Response>

const reply = (body: object) => () => jsonResponse(body, 200)

function Chat() {
  const [isOpen, setIsOpen] = useState(false)
  return <ChatWidget isOpen={isOpen} onOpenChange={setIsOpen} />
}

async function openChat(
  answer: Answer = reply({ response: 'Nothing.' }),
  config: object[] | 'failure' = [{ welcome_message: WELCOME }],
) {
  const requests = stubBackend(
    { chat_widget_config: config, chat_suggested_questions: QUESTIONS },
    { 'chat-ai': answer },
  )
  renderFeature(<Chat />)
  act(() => void vi.advanceTimersByTime(2000))
  await user.click(screen.getByRole('button', { name: /^Open chat/ }))
  await screen.findByRole('dialog')
  return requests.filter.bind(requests, ({ table }) => table === 'chat-ai')
}

const input = () => screen.getByPlaceholderText<HTMLInputElement>('Type your message...')
const say = (text: string) => user.type(input(), `${text}{Enter}`)

describe('the chat button', () => {
  it('comes after two seconds, with a badge', () => {
    stubBackend()
    renderFeature(<Chat />)
    act(() => void vi.advanceTimersByTime(1999))
    expect(screen.queryByRole('button')).toBeNull()
    act(() => void vi.advanceTimersByTime(1))
    expect(screen.getByRole('button', { name: 'Open chat, 1 unread message' })).toHaveTextContent(
      '1',
    )
  })
})

describe('the chat', () => {
  it('welcomes as configured and offers questions while nothing else was said', async () => {
    const chatRequests = await openChat()
    expect(await screen.findByText('terrace', { selector: 'strong' })).toBeInTheDocument()
    const suggestions = await screen.findByRole('list', { name: 'Suggested questions' })
    await user.click(await within(suggestions).findByText('Who owns the data?'))
    expect(await screen.findByText('Nothing.')).toBeInTheDocument()
    expect(chatRequests()[0]?.body).toEqual({ message: 'Who owns the data?' })
    expect(screen.queryByRole('list', { name: 'Suggested questions' })).toBeNull()
  })

  it('welcomes in its own words where the configuration cannot be read', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    await openChat(undefined, 'failure')
    expect(await screen.findByText('Hi there! How can I help you today?')).toBeInTheDocument()
  })

  it('announces what the assistant says', async () => {
    await openChat()
    const messages = screen.getByRole('log', { name: 'Messages' })
    expect(messages).toHaveAttribute('aria-live', 'polite')
    expect(await within(messages).findByText('terrace')).toBeInTheDocument()
    await say('Hello')
    expect(await within(messages).findByText('Nothing.')).toBeInTheDocument()
  })

  it('focuses the field, loses its badge, and keeps what was said when it is closed', async () => {
    await openChat()
    await waitFor(() => expect(input()).toHaveFocus())
    await say('Hello')
    await screen.findByText('Nothing.')
    await user.type(input(), 'Half a')
    await user.keyboard('{Escape}')
    expect(screen.queryByRole('dialog')).toBeNull()
    const button = screen.getByRole('button', { name: 'Open chat' })
    expect(button).toHaveFocus()
    await user.click(button)
    expect(within(await screen.findByRole('dialog')).getByText('Nothing.')).toBeInTheDocument()
    expect(input()).toHaveValue('Half a')
  })

  it('leaves the page beside it usable, and stays open there', async () => {
    await openChat()
    const dialog = screen.getByRole('dialog', { name: 'Chat with the Terrace assistant' })
    await user.click(document.body)
    expect(dialog).toBeInTheDocument()
    expect(dialog).not.toHaveAttribute('aria-modal')
    expect(document.body).not.toHaveStyle({ pointerEvents: 'none' })
  })

  it('takes the focus, but not into the field, on a phone', async () => {
    vi.stubGlobal('innerWidth', 767)
    await openChat()
    await waitFor(() => expect(screen.getByRole('dialog')).toHaveFocus())
  })

  it('shows that a reply is coming, no sooner than 300 ms after the question', async () => {
    await openChat()
    const begin = performance.now()
    await say('Hello')
    expect(screen.getByText('The assistant is typing')).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Send message' })).toBeDisabled()
    await screen.findByText('Nothing.')
    expect(performance.now() - begin).toBeGreaterThanOrEqual(300)
    expect(screen.queryByText('The assistant is typing')).toBeNull()
  })

  it('takes no empty, no unsafe and no longer message than it may', async () => {
    const chatRequests = await openChat()
    await say('   ')
    await say('<script>alert(1)</script>')
    expect(
      await screen.findByText('Invalid input. Please try again with a different message.'),
    ).toBeInTheDocument()
    expect(chatRequests()).toHaveLength(0)
    expect(input()).toHaveAttribute('maxlength', '1000')
    await user.clear(input())
    await say('Hello')
    expect(
      screen.queryByText('Invalid input. Please try again with a different message.'),
    ).toBeNull()
  })

  it('says so where the function fails, and puts the next reply in the place of that', async () => {
    vi.spyOn(console, 'error').mockReturnValue()
    const answers: Answer[] = [() => jsonResponse({}, 500), reply({ response: 'Here I am.' })]
    const chatRequests = await openChat(() => answers.shift()?.() ?? jsonResponse({}, 500))
    await say('Anybody?')
    const apology =
      "I'm sorry, I'm having trouble connecting right now. Please try again later or contact our support team if the issue persists."
    expect(await screen.findByText(apology)).toBeInTheDocument()
    expect(
      await screen.findByText('Could not get a response. Please try again.'),
    ).toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Connection issue. Try again?' }))
    expect(await screen.findByText('Here I am.')).toBeInTheDocument()
    expect(screen.queryByText(apology)).toBeNull()
    expect(chatRequests().map(({ body }) => body)).toEqual([
      { message: 'Anybody?' },
      { message: 'Anybody?' },
    ])
  })

  it.each([
    ['openai_quota_exceeded', 'The AI service is temporarily unavailable. Please try again later.'],
    ['configuration_error', "There's a configuration issue with the chat service."],
    ['rate_limited', 'Connection issue. Try again?'],
  ])('names the failure %s on its button', async (error, label) => {
    await openChat(reply({ response: 'Not now.', error }))
    await say('Hello')
    expect(await screen.findByText('Not now.')).toBeInTheDocument()
    expect(screen.getByRole('button', { name: label })).toBeInTheDocument()
  })

  it.each([
    ['without words', {}],
    ['with empty ones', { response: '' }],
  ])('apologises for a failure %s, and forgets it when it is closed', async (_, words) => {
    await openChat(reply({ ...words, error: 'configuration_error' }))
    await say('Hello')
    expect(
      await screen.findByText(
        "I'm sorry, I'm having trouble connecting right now. Please try again later.",
      ),
    ).toBeInTheDocument()
    await user.click(screen.getByRole('button', { name: 'Close chat' }))
    await user.click(screen.getByRole('button', { name: 'Open chat' }))
    await waitFor(() =>
      expect(screen.queryByRole('button', { name: /configuration issue/ })).toBeNull(),
    )
  })

  it.each([
    [0, 'Good morning!'],
    [11, 'Good morning!'],
    [12, 'Good afternoon!'],
    [17, 'Good afternoon!'],
    [18, 'Good evening!'],
    [23, 'Good evening!'],
  ])('greets at %i o’clock with %s', (hour, text) => {
    expect(greeting(hour)).toBe(text)
  })
})

describe('formatted replies', () => {
  it('keep simple formatting', () => {
    const html = renderMarkdown(
      '**Bold** and *soft*\n\n- one\n- two\n\n> said\n\n`code`\n\n1. first',
    )
    for (const tag of ['strong', 'em', 'ul', 'li', 'blockquote', 'code', 'ol', 'p'])
      expect(html).toContain(`<${tag}>`)
  })

  it.each([
    '<img src=x onerror=alert(1)>',
    '<p class="x" onclick="y" data-z="1" aria-label="q">text</p>',
    '[link](javascript:alert(1))',
    '<script>alert(1)</script>',
    '<iframe src="https://x.example"></iframe>',
    '# Heading',
    '| a |\n|---|\n| b |',
  ])('lose every other element and all attributes: %s', (text) => {
    const tags = renderMarkdown(text).match(/<[^>]*>/g) ?? []
    for (const tag of tags)
      expect(tag).toMatch(/^<\/?(?:p|br|strong|em|b|i|ul|ol|li|code|pre|blockquote)>$/)
  })
})
