import { cn } from '@/lib/cn'

/** The lamps of a substitution board: seven rows for each sign, # for a lit one. */
const GLYPHS: Record<string, readonly string[]> = {
  '0': ['.###.', '#...#', '#...#', '#...#', '#...#', '#...#', '.###.'],
  '1': ['..#..', '.##..', '..#..', '..#..', '..#..', '..#..', '.###.'],
  '4': ['...#.', '..##.', '.#.#.', '#..#.', '#####', '...#.', '...#.'],
  '+': ['.....', '..#..', '..#..', '#####', '..#..', '..#..', '.....'],
  '%': ['##...', '##..#', '...#.', '..#..', '.#...', '#..##', '...##'],
  '∞': ['.........', '.##...##.', '#..#.#..#', '#...#...#', '#..#.#..#', '.##...##.', '.........'],
}

const ROWS = 7
const BLANK = Array.from({ length: ROWS }, () => '.....')

/** The text as seven rows of lamps, one dark column between signs. */
function lampRows(text: string) {
  const signs = Array.from(text).map((sign) => GLYPHS[sign] ?? BLANK)
  return Array.from({ length: ROWS }, (_, row) => signs.map((glyph) => glyph[row]).join('.'))
}

interface DotMatrixProps {
  /** Any of 0 1 4 + % ∞; other signs stay dark. */
  text: string
  className?: string
}

/** Text on a scoreboard of lamps. Decorative: the caller says the same in words. */
export function DotMatrix({ text, className }: DotMatrixProps) {
  const rows = lampRows(text)
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${rows[0]?.length ?? 0} ${ROWS}`}
      className={cn('w-auto', className)}
    >
      {rows.flatMap((lamps, y) =>
        Array.from(lamps, (lamp, x) => (
          <circle
            key={`${x}-${y}`}
            cx={x + 0.5}
            cy={y + 0.5}
            r={0.4}
            className={lamp === '#' ? 'fill-floodlight' : 'fill-chalk/10'}
          />
        )),
      )}
    </svg>
  )
}
