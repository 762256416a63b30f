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

function litSeats(tier: number, start: number) {
  const count = Math.floor((VIEW - start) / STRIDE)
  return Array.from({ length: count }, (_, seat) => seat).filter((seat) => isLit(tier, seat))
}

/** A stand of rising rows, some of its seats lit. Decorative. */
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
        const start = Math.max(0, TOP_ROW_START - tier * TIER_DEPTH)
        return (
          <g key={tier} transform={`translate(${start} ${tier * TIER_HEIGHT})`}>
            <rect width={VIEW - start} height={TIER_HEIGHT + 1} className="fill-ink-raised" />
            <rect width={VIEW - start} height={TIER_HEIGHT} fill="url(#seats)" />
            <rect width={VIEW - start} height={4} className="fill-pitch" />
            {litSeats(tier, start).map((seat) => (
              <rect
                key={seat}
                x={seat * STRIDE + 4}
                y={SEAT_TOP}
                width={SEAT.width}
                height={SEAT.height}
                rx={SEAT.radius}
                className={seat % 3 === 0 ? 'animate-seat fill-floodlight' : 'fill-pitch'}
              />
            ))}
          </g>
        )
      })}
    </svg>
  )
}
