const VIEW = 1000
const TIERS = 14
const TIER_HEIGHT = VIEW / TIERS
const TIER_DEPTH = 58
/** Where the highest row begins; each row below begins one depth further left. */
const TOP_ROW_START = 820
const SEAT = { width: 20, height: 20, radius: 5 }
const STRIDE = 30
const SEAT_TOP = TIER_HEIGHT - SEAT.height - 14

/** Spreads the lit seats so that they look random and are the same on every visit. */
function isLit(tier: number, seat: number) {
  return ((tier + 3) * (seat + 5) * 7919 + seat * 613 + tier * 271) % 13 === 0
}

function tierStart(tier: number) {
  return Math.max(0, TOP_ROW_START - tier * TIER_DEPTH)
}

const LIT_SEATS = Array.from({ length: TIERS }, (_, tier) => {
  const start = tierStart(tier)
  const seats = Array.from({ length: Math.floor((VIEW - start) / STRIDE) }, (_, seat) => seat)
  return seats
    .filter((seat) => isLit(tier, seat))
    .map((seat) => ({
      key: `${tier} ${seat}`,
      x: start + seat * STRIDE + 4,
      y: tier * TIER_HEIGHT + SEAT_TOP,
      isBlinking: seat % 3 === 0,
    }))
}).flat()

/** Shows a stand of rising rows, some of its seats lit. Decorative. */
export function Stand({ className }: { className?: string }) {
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${VIEW} ${VIEW}`}
      preserveAspectRatio="xMaxYMax slice"
      className={className}
    >
      <defs>
        <pattern id="seats" width={STRIDE} height={TIER_HEIGHT} patternUnits="userSpaceOnUse">
          <rect
            x={4}
            y={SEAT_TOP}
            width={SEAT.width}
            height={SEAT.height}
            rx={SEAT.radius}
            className="fill-pitch-deep"
          />
        </pattern>
      </defs>
      {Array.from({ length: TIERS }, (_, tier) => {
        const width = VIEW - tierStart(tier)
        return (
          <g key={tier} transform={`translate(${tierStart(tier)} ${tier * TIER_HEIGHT})`}>
            <rect width={width} height={TIER_HEIGHT + 1} className="fill-ink-raised" />
            <rect width={width} height={TIER_HEIGHT} fill="url(#seats)" />
            <rect width={width} height={4} className="fill-pitch" />
          </g>
        )
      })}
      <LitSeats areBlinking={false} className="fill-pitch" />
      <LitSeats areBlinking className="animate-seat fill-floodlight" />
    </svg>
  )
}

interface LitSeatsProps {
  areBlinking: boolean
  className: string
}

/** Shows the lit seats of one kind, in one group, so that the browser blends one layer and not one per seat. */
function LitSeats({ areBlinking, className }: LitSeatsProps) {
  return (
    <g className={className}>
      {LIT_SEATS.filter(({ isBlinking }) => isBlinking === areBlinking).map(({ key, x, y }) => (
        <rect key={key} x={x} y={y} width={SEAT.width} height={SEAT.height} rx={SEAT.radius} />
      ))}
    </g>
  )
}
