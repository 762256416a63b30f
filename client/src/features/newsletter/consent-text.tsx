import { Link } from '@/components/layout/link'

import { copy } from './copy'

/** Shows what a subscriber agrees to. */
export function ConsentText() {
  return (
    <>
      {copy.consent}{' '}
      <Link to="/privacy" className="font-semibold underline underline-offset-4">
        {copy.consentPolicy}
      </Link>
      . {copy.consentEnd}
    </>
  )
}
