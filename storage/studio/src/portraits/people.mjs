import { chalk, flare, flareSoft, floodlight, ink, mist, pitch, pitchDeep, pitchSoft, sand, mix } from '../core/palette.mjs'
import { hairs } from './tones.mjs'

const navy = '#22345C'
const gold = '#E0B23C'
const tortoise = '#C27A32'
const woman = { jaw: 76, chin: 26, neck: 50, nose: 18, brows: 7, blush: 0.36, lift: 1, lashes: true, mouth: 'smile' }
const man = { jaw: 90, chin: 40, neck: 62, nose: 22, brows: 11, blush: 0.24, lift: 0, mouth: 'calm' }

/** Everybody on the site, in the order of the site. `hair` is [style, tone, the style's own accent]. */
export const people = [
  { ...woman, slug: 'marisol-akande', skin: 'brown', hair: ['coils', hairs.black, '#C9CBC8'], eyes: '#3A2314', turn: 0.7, tilt: -2, mouth: 'grin', lined: true,
    glasses: { kind: 'round', colour: tortoise, width: 9 }, earrings: gold, backdrop: ['circle', pitch, mix(pitch, chalk, 0.18)],
    wears: { kind: 'blazer', half: 296, colour: sand, under: flare, collar: 'crew' } },
  { ...man, slug: 'tobias-brandvik', skin: 'fair', hair: ['swept', hairs.sandy], eyes: '#4F7F93', turn: -0.8, tilt: 2, beard: 'trimmed', mouth: 'wry',
    backdrop: ['steps', flareSoft, mix(flareSoft, flare, 0.4)], wears: { kind: 'roll', half: 322, colour: pitchDeep } },
  { ...woman, slug: 'priyanka-velloor', skin: 'amber', hair: ['straight', hairs.black], eyes: '#3A2314', turn: 0.5, tilt: 2, earrings: gold, brows: 9,
    backdrop: ['arcs', floodlight, mix(floodlight, pitch, 0.2)], wears: { kind: 'blazer', half: 288, colour: pitch, under: chalk, collar: 'deep' } },
  { ...man, slug: 'declan-harrowgate', skin: 'ruddy', hair: ['crop', hairs.silver], eyes: '#4F7186', turn: 0.6, tilt: -1, lined: true, jaw: 98, chin: 46, neck: 70, blush: 0.5, mouth: 'grin', brows: 10,
    glasses: { kind: 'rectangle', colour: ink, width: 8 }, backdrop: ['corner', mist, chalk], wears: { kind: 'suit', half: 344, colour: navy, under: chalk, tie: flare } },
  { ...woman, slug: 'hana-morikubo', skin: 'light', hair: ['bob', hairs.black], eyes: '#2A1A12', turn: -0.5, tilt: -2, nose: 16,
    glasses: { kind: 'round', colour: '#B98F3C', width: 4 }, backdrop: ['disc', flare, mix(flare, '#FFFFFF', 0.2)], wears: { kind: 'roll', half: 276, colour: sand } },
  { ...man, slug: 'luca-ferrantino', skin: 'olive', hair: ['waves', hairs.espresso], eyes: '#4A3218', turn: 0.8, tilt: 2, beard: 'full', mouth: 'grin', brows: 13,
    backdrop: ['beams', pitchDeep, mix(pitchDeep, floodlight, 0.18)], wears: { kind: 'track', half: 346, colour: flare, trim: chalk, under: ink } },
  { ...woman, slug: 'amara-nkwenti', skin: 'deep', hair: ['braids', hairs.black, floodlight], eyes: '#2A160C', turn: -0.7, tilt: 1, brows: 8,
    backdrop: ['ticket', sand, flareSoft], wears: { kind: 'blazer', half: 286, colour: pitch, under: floodlight, collar: 'crew' } },
  { ...man, slug: 'jonas-lindqvare', skin: 'pale', hair: ['curly', hairs.ginger], eyes: '#5B8A5C', turn: 0.5, tilt: -3, jaw: 84, chin: 34, neck: 56, mouth: 'grin', freckled: true, blush: 0.5, brows: 9,
    glasses: { kind: 'square', colour: '#DCE6E2', width: 8 }, backdrop: ['mown', pitchSoft, mix(pitchSoft, pitch, 0.22)], wears: { kind: 'hoodie', half: 312, colour: pitchDeep, under: chalk } },
  { ...woman, slug: 'eleanor-vasske', skin: 'fair', hair: ['lob', hairs.auburn], eyes: '#4C7A63', turn: 0.6, tilt: 1, mouth: 'smile',
    backdrop: ['arcs', mist, chalk], wears: { kind: 'blazer', half: 290, colour: ink, under: floodlight, collar: 'deep' } },
  { ...man, slug: 'rafael-quintaneiro', skin: 'tan', hair: ['textured', hairs.black, '#8E918F'], eyes: '#3A2314', turn: -0.6, tilt: -1, beard: 'stubble', mouth: 'wry', brows: 13,
    glasses: { kind: 'round', colour: ink, width: 8 }, backdrop: ['seats', floodlight, mix(floodlight, pitch, 0.16)], wears: { kind: 'crew', half: 322, colour: navy, trim: mix(navy, chalk, 0.18) } },
  { ...woman, slug: 'ngozi-adelmann', skin: 'umber', hair: ['puff', hairs.black], eyes: '#2A160C', turn: -0.5, tilt: -1, mouth: 'grin', brows: 9, earrings: floodlight, statement: true, zoom: 1.06, drop: 22,
    backdrop: ['circle', flare, mix(flare, chalk, 0.25)], wears: { kind: 'wrap', half: 284, colour: pitchDeep, trim: floodlight } },
  { ...man, slug: 'samir-haddaoui', skin: 'amber', hair: ['fade', hairs.black, 'skin'], eyes: '#3A2314', turn: 0.7, tilt: 2, beard: 'trimmed', mouth: 'grin', brows: 12,
    backdrop: ['corner', sand, mix(sand, flare, 0.22)], wears: { kind: 'overshirt', half: 320, colour: pitch, under: chalk } },
  { ...woman, slug: 'freya-tolmaine', skin: 'pale', hair: ['pixie', hairs.platinum], eyes: '#4F7F93', turn: -0.6, tilt: 3, mouth: 'wry', browColour: '#B5925A',
    glasses: { kind: 'square', colour: navy, width: 10 }, earrings: flare, backdrop: ['steps', pitchDeep, pitch], wears: { kind: 'crew', half: 276, colour: flareSoft, trim: flare, stripes: flare } },
  { ...man, slug: 'gustav-reinholm', skin: 'fair', hair: ['elder', hairs.white], eyes: '#4F7186', turn: -0.5, tilt: -1, beard: 'trimmed', mouth: 'calm', lined: true, brows: 12, blush: 0.4, browColour: '#CFCEC6',
    glasses: { kind: 'half', colour: ink, width: 7 }, backdrop: ['ticket', pitch, mix(pitch, ink, 0.35)], wears: { kind: 'suit', half: 326, colour: '#8A6B4A', under: chalk } },
  { ...woman, slug: 'beatrix-okonjima', skin: 'umber', hair: ['locs', hairs.espresso, '#D5D8D4'], eyes: '#2A160C', turn: 0.6, tilt: -1, lined: true, mouth: 'smile', brows: 8,
    backdrop: ['disc', pitchSoft, mist], wears: { kind: 'roll', half: 292, colour: flare } },
  { ...man, slug: 'kenji-aldersey', skin: 'light', hair: ['parted', hairs.black], eyes: '#4A3218', turn: 0.5, tilt: 1, mouth: 'smile', brows: 10,
    backdrop: ['mown', mist, chalk], wears: { kind: 'suit', half: 320, colour: ink, under: mist } },
]
