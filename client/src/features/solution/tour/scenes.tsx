import { useId, type ReactNode } from 'react'

const WIDTH = 224
const HEIGHT = 464

function Scene({ children }: { children: ReactNode }) {
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="xMidYMid slice"
      className="absolute inset-0 size-full"
    >
      {children}
    </svg>
  )
}

/** The mown stripes of a pitch below `top`. */
function Pitch({ top }: { top: number }) {
  return (
    <>
      <rect y={top} width={WIDTH} height={HEIGHT - top} className="fill-pitch" />
      {[0, 1, 2].map((stripe) => (
        <rect
          key={stripe}
          y={top + 24 + stripe * 84}
          width={WIDTH}
          height={42}
          className="fill-pitch-mid"
        />
      ))}
    </>
  )
}

/** Cones, a ladder and a ball on the training ground. */
export function TrainingScene() {
  return (
    <Scene>
      <rect width={WIDTH} height={220} className="fill-(--club-bright)" />
      <circle cx={168} cy={150} r={44} className="fill-(--club-soft)" />
      <path d="M0 220V170l40-22 52 30 60-40 72 44v38z" className="fill-(--club-deep)" />
      <Pitch top={214} />
      {[36, 76, 116, 156, 196].map((x, index) => (
        <path
          key={x}
          d={`M${x} ${270 + (index % 2) * 34}l-9 24h18z`}
          className="fill-(--club-bright)"
        />
      ))}
      <circle cx={112} cy={352} r={10} className="fill-chalk stroke-ink" strokeWidth={3} />
    </Scene>
  )
}

const LOOKS = [
  'stroke-(--club-bright)',
  'stroke-chalk/25',
  'stroke-(--club-soft)',
  'stroke-chalk/15',
]

/** Fans of the stand, as a path of dots for each look: five rows in each other's gaps; their colours look random. */
const FANS = LOOKS.map((look, index) => {
  const path = Array.from({ length: 35 }, (_, fan) => {
    const row = Math.floor(fan / 7)
    const seat = fan % 7
    const isOfLook = ((seat * seat + row * 3 + seat * row * 5) % 7) % 4 === index
    return isOfLook ? `M${seat * 8 + (row % 2 ? 6 : 2)} ${row * 9.6 + 4}h0` : ''
  }).join('')
  return { look, path }
})

/** A goal at the stadium: the ball in the top corner, the goalkeeper in the air. */
export function GoalScene() {
  const id = useId()
  return (
    <Scene>
      <defs>
        <pattern id={`${id}crowd`} width={56} height={48} patternUnits="userSpaceOnUse">
          {FANS.map(({ look, path }) => (
            <path key={look} d={path} strokeWidth={6.8} strokeLinecap="round" className={look} />
          ))}
        </pattern>
        <pattern id={`${id}net`} width={9} height={9} patternUnits="userSpaceOnUse">
          <path d="M0 0H9M0 0V9" className="stroke-chalk/50" />
        </pattern>
      </defs>
      <path d="M0 0h70L10 220H0zM224 0h-70l60 220h10z" className="fill-chalk/10" />
      <rect y={96} width={WIDTH} height={124} fill={`url(#${id}crowd)`} />
      <rect y={216} width={WIDTH} height={14} className="fill-(--club-bright)" />
      <path d="M10 223h30M52 223h46M110 223h24M146 223h60" className="stroke-ink" strokeWidth={4} />
      <Pitch top={230} />
      <rect x={34} y={196} width={150} height={86} fill={`url(#${id}net)`} />
      <path d="M34 284V196H184V284" fill="none" className="stroke-chalk" strokeWidth={5} />
      <g className="origin-center animate-vignette-dive [transform-box:fill-box]">
        <g strokeLinecap="round">
          <path d="M106 250 84 262M106 250 92 274" strokeWidth={8} className="stroke-ink" />
          <path
            d="M130 232 152 216M132 236 158 226"
            strokeWidth={6}
            className="stroke-floodlight"
          />
          <path d="M108 249 128 234" strokeWidth={16} className="stroke-floodlight" />
        </g>
        <circle cx={135} cy={222} r={7.5} className="fill-(--club-soft)" />
        <circle cx={153} cy={215} r={4.5} className="fill-chalk" />
        <circle cx={160} cy={225} r={4.5} className="fill-chalk" />
      </g>
      <circle
        cx={170}
        cy={210}
        r={8.5}
        strokeWidth={3}
        className="origin-center animate-vignette-shot fill-chalk stroke-ink [transform-box:fill-box]"
      />
      <path d="M0 330h224" className="stroke-chalk/70" strokeWidth={3} />
      {[18, 62, 108, 150, 200].map((x, index) => (
        <g key={x} className={index % 2 ? 'fill-(--club-bright)' : 'fill-(--club-soft)'}>
          <rect x={x - 26} y={398 + (index % 3) * 12} width={52} height={80} rx={24} />
          <circle cx={x} cy={384 + (index % 3) * 12} r={15} />
          <rect x={x - 26} y={346 + (index % 3) * 14} width={8} height={80} rx={4} />
          <rect x={x + 18} y={350 + (index % 3) * 14} width={8} height={80} rx={4} />
        </g>
      ))}
    </Scene>
  )
}
