import type { ReactNode } from 'react'

function Diagram({ children }: { children: ReactNode }) {
  return (
    <svg
      aria-hidden
      viewBox="0 0 240 120"
      fill="none"
      strokeWidth={3}
      className="h-auto w-full max-w-72 stroke-ink/25"
    >
      {children}
    </svg>
  )
}

/** Shows a centre circle of which only a small part is reached. */
function Access() {
  const circumference = 2 * Math.PI * 54
  return (
    <Diagram>
      <path d="M0 60H240" />
      <circle cx={120} cy={60} r={54} />
      <circle
        cx={120}
        cy={60}
        r={54}
        strokeWidth={9}
        strokeDasharray={`${circumference * 0.11} ${circumference}`}
        transform="rotate(-110 120 60)"
        className="stroke-flare"
      />
      <circle cx={120} cy={60} r={4} className="fill-ink/40 stroke-none" />
    </Diagram>
  )
}

const DEPTHS = [10, 16, 8, 13, 96, 9, 14, 7, 11, 10, 15, 8]

/** Shows many shallow marks, a single deep one. */
function Depth() {
  return (
    <Diagram>
      <path d="M0 12H240" />
      {DEPTHS.map((depth, index) => (
        <path
          key={index}
          d={`M${10 + index * 20} 12v${depth}`}
          strokeWidth={9}
          className={depth > 50 ? 'stroke-flare' : undefined}
        />
      ))}
    </Diagram>
  )
}

/** Shows a line that falls step by step and breaks up. */
function Connection() {
  return (
    <Diagram>
      <path d="M0 12h60v28h50" strokeWidth={9} className="stroke-flare" />
      <path d="M118 40h12v28h30" strokeWidth={7} strokeDasharray="14 9" />
      <path d="M168 70v26h72" strokeWidth={4} strokeDasharray="5 12" />
    </Diagram>
  )
}

export const diagrams = [Access, Depth, Connection] as const
