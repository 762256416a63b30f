import { mix } from '../core/palette.mjs'

const skinTone = (base, shade, line, blush, lip) => ({
  base,
  shade,
  line,
  blush,
  lip,
  bareLip: mix(lip, shade, 0.55),
})

/** Skin: the lit side, the shaded side, the drawn line, the cheek, and the lips with and without colour. */
export const skins = {
  pale: skinTone('#F8DCCB', '#E8B8A0', '#B9745C', '#F2A48F', '#CE6A5C'),
  fair: skinTone('#F3CBAE', '#DDA280', '#A9694A', '#EE9A80', '#BF5B4C'),
  ruddy: skinTone('#F0C0A4', '#D99577', '#A25C44', '#E6816A', '#B2594A'),
  light: skinTone('#F2CFAB', '#DCA983', '#A4704D', '#EB9C80', '#B85A4D'),
  olive: skinTone('#DDAC83', '#BD855D', '#83532F', '#D17F5E', '#A24E3E'),
  tan: skinTone('#CF9A6C', '#AD754A', '#744724', '#C4734F', '#96473A'),
  amber: skinTone('#BC8457', '#98623B', '#623919', '#B4654A', '#8E3E39'),
  umber: skinTone('#935C3B', '#724228', '#472411', '#99492F', '#7E2F2F'),
  brown: skinTone('#7E4C31', '#5E3421', '#37190D', '#8A3F2B', '#70292A'),
  deep: skinTone('#673D2A', '#4A281B', '#2A120B', '#77372A', '#642526'),
}

const hairTone = (base, light, deep) => ({ base, light, deep })

/** Hair: the mass, the strands that catch the light, and the parts in shade. */
export const hairs = {
  black: hairTone('#1D1B1F', '#454149', '#0D0C0E'),
  espresso: hairTone('#2F1F1A', '#5A4035', '#1C110E'),
  sandy: hairTone('#CFA263', '#EBCB93', '#A67A40'),
  ginger: hairTone('#C75F2A', '#EA9150', '#97421A'),
  auburn: hairTone('#85391F', '#B6603B', '#5C2412'),
  silver: hairTone('#A9AEAC', '#D7DAD6', '#7F8684'),
  white: hairTone('#E9E7DF', '#FFFFFF', '#C2C1B8'),
  platinum: hairTone('#F0E2BC', '#FFF8E2', '#D3BE8A'),
}
