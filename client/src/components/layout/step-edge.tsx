import { cn } from '@/lib/cn'

interface StepEdgeProps {
  steps: number
  direction: 'up' | 'down'
  /** Gives the colour of the section that the steps belong to (`text-…`) and the height. */
  className?: string
}

/** Shows the lower edge of a section, cut into terraces by the colour of the next one. */
export function StepEdge({ steps, direction, className }: StepEdgeProps) {
  const height = (step: number) => (direction === 'up' ? step : steps - 1 - step)
  const outline = Array.from({ length: steps }, (_, step) => {
    const y = steps - 1 - height(step)
    return `L${step} ${y} L${step + 1} ${y}`
  }).join(' ')
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${steps} ${steps - 1}`}
      preserveAspectRatio="none"
      shapeRendering="crispEdges"
      className={cn(
        'pointer-events-none absolute inset-x-0 bottom-[-1px] w-full',
        className ?? 'h-[clamp(2rem,6vw,6rem)]',
      )}
    >
      <path d={`M0 ${steps} ${outline} L${steps} ${steps} Z`} fill="currentColor" />
    </svg>
  )
}
