import { cn } from '@/lib/cn'

/** The signs on the crests of fictional clubs. */
export type Emblem = 'lantern' | 'picks' | 'wheel'

const OUTLINES: Record<Emblem, string> = {
  lantern: 'M24 3 44 9v19c0 12-8 20-20 26C12 48 4 40 4 28V9z',
  picks: 'M24 3 45 15.5v25L24 53 3 40.5v-25z',
  wheel: 'M24 5.5a22.5 22.5 0 0 1 0 45a22.5 22.5 0 0 1 0-45z',
}

function Sign({ emblem }: { emblem: Emblem }) {
  switch (emblem) {
    case 'lantern':
      return (
        <>
          <path d="M19 18a5 6 0 0 1 10 0" fill="none" strokeWidth={2} stroke="currentColor" />
          <path d="M16 18h16v4H16zM18 24h12v12H18zM15 38h18v4H15z" fill="currentColor" />
          <path d="M24 26c4 4 3 8 0 8s-4-4 0-8z" className="fill-(--club-bright)" />
        </>
      )
    case 'picks':
      return (
        <g fill="none" strokeWidth={3.5} stroke="currentColor" strokeLinecap="round">
          <path d="M14 40 32 20M34 40 16 20" />
          <path d="M24 15q9 1 13 11M24 15q-9 1-13 11" />
        </g>
      )
    case 'wheel':
      return (
        <g fill="none" strokeWidth={3} stroke="currentColor">
          <circle cx={24} cy={28} r={14} />
          <circle cx={24} cy={28} r={4} fill="currentColor" />
          <path d="M24 14v28M11.9 21l24.2 14M36.1 21 11.9 35" strokeWidth={2} />
        </g>
      )
  }
}

/** Shows the crest of a fictional club, in the colours of the next `data-colours` around it. */
export function Crest({ emblem, className }: { emblem: Emblem; className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 48 56" className={cn('text-(--club-deep)', className)}>
      <path
        d={OUTLINES[emblem]}
        strokeWidth={3}
        className="fill-(--club-bright) stroke-(--club-soft)"
      />
      <Sign emblem={emblem} />
    </svg>
  )
}
