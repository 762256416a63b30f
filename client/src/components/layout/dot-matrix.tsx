import { cn } from '@/lib/cn'

/** Five dots wide, seven high, as on a substitution board. Each number is one row, its bits the dots. */
const GLYPHS: Record<string, readonly number[]> = {
  '0': [14, 17, 19, 21, 25, 17, 14],
  '1': [4, 12, 4, 4, 4, 4, 14],
  '4': [2, 6, 10, 18, 31, 2, 2],
  '9': [14, 17, 17, 15, 1, 2, 12],
  '+': [0, 4, 4, 31, 4, 4, 0],
  '%': [24, 25, 2, 4, 8, 19, 3],
  '∞': [0, 0, 10, 21, 10, 0, 0],
}

const COLUMNS = 5
const ROWS = 7
const ADVANCE = COLUMNS + 1

function dots(text: string) {
  return [...text].flatMap((character, index) =>
    Array.from({ length: ROWS * COLUMNS }, (_, dot) => {
      const row = Math.floor(dot / COLUMNS)
      const column = dot % COLUMNS
      const bits = GLYPHS[character]?.[row] ?? 0
      return {
        x: index * ADVANCE + column,
        y: row,
        lit: ((bits >> (COLUMNS - 1 - column)) & 1) === 1,
      }
    }),
  )
}

interface DotMatrixProps {
  /** Digits and the signs + % ∞; anything else stays dark. */
  text: string
  className?: string
}

/** Text on a scoreboard of lamps. Decorative: the caller says the same in words. */
export function DotMatrix({ text, className }: DotMatrixProps) {
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${[...text].length * ADVANCE - 1} ${ROWS}`}
      className={cn('h-16 w-auto', className)}
    >
      {dots(text).map(({ x, y, lit }) => (
        <circle
          key={`${x}-${y}`}
          cx={x + 0.5}
          cy={y + 0.5}
          r={0.4}
          className={lit ? 'fill-floodlight' : 'fill-chalk/10'}
        />
      ))}
    </svg>
  )
}
