import { useEffect } from 'react'

import { notify } from './notify'

/** Raises a destructive toast, once for each error. It goes when there is no error any more. */
export function useErrorToast(error: Error | null, title: string, description?: string) {
  useEffect(() => {
    if (!error) return
    notify.error(title, description)
    return () => notify.withdraw(title)
  }, [error, title, description])
}
