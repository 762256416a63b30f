import { useLocation } from 'react-router-dom'

import { PasswordGate } from '@/features/gate/password-gate'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

/** Returns the page from which the gate has redirected the visitor, or the home page. */
function destinationOf(state: unknown) {
  const from = typeof state === 'object' && state !== null && 'from' in state ? state.from : null
  return typeof from === 'string' ? from : '/'
}

export default function PasswordPage() {
  const { state } = useLocation() as { state: unknown }
  return (
    <>
      <PageHead />
      <PasswordGate destination={destinationOf(state)} />
      <HashScroll />
    </>
  )
}
