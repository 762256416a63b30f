/** The colours of Terrace. Every picture takes its colours from here, so the set reads as one family. */
export const ink = '#10201B'
export const pitch = '#0B6B4B'
export const pitchDeep = '#074532'
export const pitchSoft = '#8CC0A6'
export const flare = '#F2542D'
export const flareSoft = '#F9B8A2'
export const floodlight = '#E4F222'
export const paper = '#F7F5F0'
export const chalk = '#FFFFFF'
export const mist = '#E3EBE5'
export const stone = '#5C6B64'
export const sand = '#F3E3C3'

/** Mixes two `#RRGGBB` colours; `share` is how much of `b` is in the result, 0 to 1. */
export function mix(a, b, share) {
  const channel = (hex, at) => parseInt(hex.slice(at, at + 2), 16)
  const blend = (at) => Math.round(channel(a, at) * (1 - share) + channel(b, at) * share)
  return `#${[1, 3, 5].map((at) => blend(at).toString(16).padStart(2, '0')).join('')}`
}
