import { useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { useDeferredValue } from 'react'

/**
 * Loads content for the page, as `useQuery` does. What has arrived is rendered piece by piece, so that a slow phone can
 * answer to taps meanwhile; `useQuery` alone renders all of it in one go.
 */
export function useContent<T>(query: UseQueryOptions<T>) {
  const { data: arrived, error, isError } = useQuery(query)
  const data = useDeferredValue(arrived)
  return { data, error, isPending: data === undefined && !isError }
}
