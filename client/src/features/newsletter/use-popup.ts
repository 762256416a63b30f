import { useCallback, useEffect, useRef, useState } from 'react'

import { readLocal, writeLocal } from '@/lib/browser/browser-storage'
import { POPUP } from '@/lib/constants'

const DISABLED_KEY = 'newsletter_popup_disabled'
const INTERACTED_KEY = 'newsletter_popup_interacted'

function mayShow() {
  return readLocal(DISABLED_KEY) !== 'true' && readLocal(INTERACTED_KEY) !== 'true'
}

/** Calls `onTrigger` when the mouse leaves at the top, when the visitor has scrolled down, and after a while. */
function watchTriggers(onTrigger: () => void) {
  const timer = setTimeout(onTrigger, POPUP.delayMs)
  const onLeave = ({ clientY }: MouseEvent) => clientY <= POPUP.exitDistance && onTrigger()
  const onScroll = () =>
    window.scrollY > document.documentElement.scrollHeight * POPUP.scrollShare && onTrigger()
  document.addEventListener('mouseleave', onLeave)
  window.addEventListener('scroll', onScroll, { passive: true })
  return () => {
    clearTimeout(timer)
    document.removeEventListener('mouseleave', onLeave)
    window.removeEventListener('scroll', onScroll)
  }
}

/** Returns when the popup is open: once per visitor, at the first trigger, and never beside the open chat. */
export function usePopup(isChatOpen: boolean) {
  const [state, setState] = useState<'waiting' | 'open' | 'closed'>('waiting')
  const isBlocked = useRef(isChatOpen)
  // Opening the chat closes the popup like any other way of closing it does.
  if (state === 'open' && isChatOpen) setState('closed')

  useEffect(() => {
    isBlocked.current = isChatOpen
  }, [isChatOpen])

  useEffect(() => {
    if (!mayShow()) return
    const stop = watchTriggers(() => {
      if (isBlocked.current || !mayShow()) return
      stop()
      writeLocal(INTERACTED_KEY, 'true')
      setState('open')
    })
    return stop
  }, [])

  useEffect(() => {
    if (state === 'closed') writeLocal(DISABLED_KEY, 'true')
  }, [state])

  const close = useCallback(() => setState('closed'), [])
  return { isOpen: state === 'open', close }
}
