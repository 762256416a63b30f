import { useLocation, useNavigate } from 'react-router-dom'

import { Account, AccountFirstScreen } from '@/features/account/account'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

export const FirstScreen = AccountFirstScreen

export default function AuthPage() {
  const navigate = useNavigate()
  const query = new URLSearchParams(useLocation().search)
  return (
    <>
      <PageHead />
      <Account
        isVerified={query.get('verified') === 'true'}
        onSignedIn={() => void navigate('/', { replace: true })}
      />
      <HashScroll />
    </>
  )
}
