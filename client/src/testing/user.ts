import userEvent from '@testing-library/user-event'

/** Without pauses between keys, since the clock in tests stands still until they wait for something. */
const options = { delay: null }

/** What a visitor does with mouse and keyboard. */
export const user = {
  click: (element: Element) => userEvent.click(element, options),
  type: (element: Element, text: string) => userEvent.type(element, text, options),
  clear: (element: Element) => userEvent.clear(element),
  keyboard: (text: string) => userEvent.keyboard(text, options),
}
