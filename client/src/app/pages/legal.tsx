import type { ComponentType } from 'react'

import { Cookies } from '@/features/legal/cookies'
import { Imprint } from '@/features/legal/imprint'
import { Privacy } from '@/features/legal/privacy'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'
import type { PageProps } from '../pages'

const TEXTS: Record<string, ComponentType> = {
  '/privacy': Privacy,
  '/cookies': Cookies,
  '/imprint': Imprint,
}

export function FirstScreen({ path }: PageProps) {
  const Text = TEXTS[path]
  if (!Text) throw new Error(`No legal text is known for ${path}`)
  return <Text />
}

/** Shows one of the three legal pages. */
export default function LegalPage({ path }: PageProps) {
  return (
    <>
      <PageHead />
      <FirstScreen path={path} />
      <HashScroll />
    </>
  )
}
