import { useEffect } from 'react'

import { notify } from './notify'

/** Raises a destructive toast, once for each error. */
export function useErrorToast(error: Error | null, title: string, description?: string) {
  useEffect(() => {
    if (error) notify.error(title, description)
  }, [error, title, description])
}
