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

/** A goal at the stadium: the ball in the top corner, the goalkeeper in the air. */
export function GoalScene() {
  const id = useId()
  return (
    <Scene>
      <defs>
        <pattern id={`${id}crowd`} width={28} height={20} patternUnits="userSpaceOnUse">
          <circle cx={5} cy={5} r={3.6} className="fill-(--club-bright)" />
          <circle cx={14} cy={6} r={3.6} className="fill-chalk/25" />
          <circle cx={23} cy={5} r={3.6} className="fill-(--club-soft)" />
          <circle cx={9.5} cy={15} r={3.6} className="fill-chalk/25" />
          <circle cx={18.5} cy={16} r={3.6} className="fill-(--club-bright)" />
        </pattern>
        <pattern id={`${id}net`} width={9} height={9} patternUnits="userSpaceOnUse">
          <path d="M0 0H9M0 0V9" className="stroke-chalk/50" />
        </pattern>
      </defs>
      <path d="M0 0h70L10 220H0zM224 0h-70l60 220h10z" className="fill-chalk/10" />
      <rect y={112} width={WIDTH} height={108} fill={`url(#${id}crowd)`} />
      <rect y={216} width={WIDTH} height={14} className="fill-(--club-bright)" />
      <path d="M10 223h30M52 223h46M110 223h24M146 223h60" className="stroke-ink" strokeWidth={4} />
      <Pitch top={230} />
      <rect x={34} y={196} width={150} height={86} fill={`url(#${id}net)`} />
      <path d="M34 284V196H184V284" fill="none" className="stroke-chalk" strokeWidth={5} />
      <g className="origin-center animate-vignette-dive [transform-box:fill-box]">
        <path
          d="M92 262 122 240M122 240 148 218M96 258 74 270M94 262 82 284"
          strokeWidth={11}
          strokeLinecap="round"
          className="stroke-floodlight"
        />
        <circle cx={134} cy={222} r={8} className="fill-(--club-soft)" />
      </g>
      <circle
        cx={166}
        cy={212}
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
