const TIERS = 9
const SEAT = { width: 26, height: 22, gap: 8 }
const STRIDE = SEAT.width + SEAT.gap
const TIER_HEIGHT = 74
const TIER_DEPTH = 150
const VIEW = { width: 1640, height: TIERS * TIER_HEIGHT }

/** Spreads lit seats over the stand so that they look random and are the same on every visit. */
function isLit(tier: number, seat: number) {
  return (tier * 7919 + seat * 104729 + tier * seat * 31) % 23 === 0
}

function litSeats(tier: number, left: number) {
  const count = Math.floor((VIEW.width - left) / STRIDE)
  return Array.from({ length: count }, (_, seat) => seat).filter((seat) => isLit(tier, seat))
}

/** A stand of rising rows, some seats taken and lit. Decorative. */
export function Stand({ className }: { className?: string }) {
  return (
    <svg
      aria-hidden
      viewBox={`0 0 ${VIEW.width} ${VIEW.height}`}
      preserveAspectRatio="xMaxYMax slice"
      className={className}
    >
      <defs>
        <pattern id="seats" width={STRIDE} height={TIER_HEIGHT} patternUnits="userSpaceOnUse">
          <rect
            x={0}
            y={TIER_HEIGHT - SEAT.height - 12}
            width={SEAT.width}
            height={SEAT.height}
            rx={5}
            className="fill-pitch-deep"
          />
        </pattern>
      </defs>
      {Array.from({ length: TIERS }, (_, tier) => {
        const start = VIEW.width - (tier + 2) * TIER_DEPTH
        return (
          <g key={tier} transform={`translate(${start} ${tier * TIER_HEIGHT})`}>
            <rect width={VIEW.width - start} height={TIER_HEIGHT} className="fill-ink-raised" />
            <rect width={VIEW.width - start} height={5} className="fill-pitch-mid" />
            <rect width={VIEW.width - start} height={TIER_HEIGHT} fill="url(#seats)" />
            {litSeats(tier, start).map((seat) => (
              <rect
                key={seat}
                x={seat * STRIDE}
                y={TIER_HEIGHT - SEAT.height - 12}
                width={SEAT.width}
                height={SEAT.height}
                rx={5}
                className={seat % 3 === 0 ? 'animate-seat fill-floodlight' : 'fill-pitch'}
              />
            ))}
          </g>
        )
      })}
    </svg>
  )
}
