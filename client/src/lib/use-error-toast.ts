import { useEffect } from 'react'
import { toast } from 'sonner'

/** Raises a destructive toast, once for each error. */
export function useErrorToast(error: Error | null, title: string, description?: string) {
  useEffect(() => {
    if (error) toast.error(title, { description })
  }, [error, title, description])
}
