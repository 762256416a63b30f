import { useEffect, useState } from 'react'

/** Turns true `ms` milliseconds after the first render. */
export function useAfter(ms: number) {
  const [isOver, setIsOver] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsOver(true), ms)
    return () => clearTimeout(timer)
  }, [ms])
  return isOver
}
