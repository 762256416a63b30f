import { cn } from '@/lib/cn'

/** The lamps of a substitution board: seven rows for each sign, # for a lit one. */
const GLYPHS: Record<string, readonly string[]> = {
  '0': ['.###.', '#...#', '#...#', '#...#', '#...#', '#...#', '.###.'],
  '1': ['..#..', '.##..', '..#..', '..#..', '..#..', '..#..', '.###.'],
  '2': ['.###.', '#...#', '....#', '...#.', '..#..', '.#...', '#####'],
  '3': ['.###.', '#...#', '....#', '..##.', '....#', '#...#', '.###.'],
  '4': ['...#.', '..##.', '.#.#.', '#..#.', '#####', '...#.', '...#.'],
  '5': ['#####', '#....', '####.', '....#', '....#', '#...#', '.###.'],
  '6': ['..##.', '.#...', '#....', '####.', '#...#', '#...#', '.###.'],
  '7': ['#####', '....#', '...#.', '..#..', '.#...', '.#...', '.#...'],
  '8': ['.###.', '#...#', '#...#', '.###.', '#...#', '#...#', '.###.'],
  '9': ['.###.', '#...#', '#...#', '.####', '....#', '...#.', '.##..'],
  '£': ['..##.', '.#..#', '.#...', '####.', '.#...', '.#...', '#####'],
  ',': ['..', '..', '..', '..', '##', '##', '#.'],
  '+': ['.....', '..#..', '..#..', '#####', '..#..', '..#..', '.....'],
  '%': ['##...', '##..#', '...#.', '..#..', '.#...', '#..##', '...##'],
  '∞': ['.........', '.##...##.', '#..#.#..#', '#...#...#', '#..#.#..#', '.##...##.', '.........'],
}

const ROWS = 7

/** A circle that begins at its left edge. */
const LAMP = 'a.4.4 0 1 0 .8 0a.4.4 0 1 0-.8 0'

const BLANK = Array.from({ length: ROWS }, () => '.....')

/** Returns the text as seven rows of lamps, one dark column between signs. */
function lampRows(text: string) {
  const signs = Array.from(text).map((sign) => GLYPHS[sign] ?? BLANK)
  return Array.from({ length: ROWS }, (_, row) => signs.map((glyph) => glyph[row]).join('.'))
}

/** Returns a path that draws the lamps of `rows` which are `lit`, or the others. */
function lampPath(rows: readonly string[], lit: boolean) {
  const lamps = rows.flatMap((row, y) =>
    Array.from(row, (lamp, x) => ((lamp === '#') === lit ? `M${x + 0.1} ${y + 0.5}${LAMP}` : '')),
  )
  return lamps.join('')
}

interface DotMatrixProps {
  /** Any of 0 to 9, £ , + % ∞; other signs stay dark. */
  text: string
  className?: string
}

/** Shows text on a scoreboard of lamps. Decorative: the caller says the same in words. */
export function DotMatrix({ text, className }: DotMatrixProps) {
  const rows = lampRows(text)
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${rows[0]?.length ?? 0} ${ROWS}`}
      className={cn('w-auto', className)}
    >
      <path d={lampPath(rows, false)} className="fill-chalk/10" />
      <path d={lampPath(rows, true)} className="fill-floodlight" />
    </svg>
  )
}
