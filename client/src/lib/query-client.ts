import { QueryClient } from '@tanstack/react-query'

/** Content changes rarely, so a page keeps what it has read; supabase-js retries lost requests itself. */
export function createQueryClient() {
  return new QueryClient({
    defaultOptions: { queries: { staleTime: Infinity, retry: false, refetchOnWindowFocus: false } },
  })
}
