import { ads } from './ads.mjs'
import { broadcast } from './broadcast.mjs'
import { fortress } from './fortress.mjs'
import { genZ } from './gen-z.mjs'
import { goalLine } from './goal-line.mjs'
import { loyalty } from './loyalty.mjs'

/** The opening picture of each article, by the file name that the article asks for. All are 1600 by 900. */
export const heroes = [
  { name: 'Owning-the-Goal-Line.png', scene: goalLine },
  { name: 'Level-Up-Your-Loyalty.png', scene: loyalty },
  { name: 'Building-Your-Fortress.png', scene: fortress },
  { name: 'Beyond-Ads.png', scene: ads },
  { name: 'Beyond-Broadcast.png', scene: broadcast },
  { name: 'Engaging-Gen-Z.png', scene: genZ },
]
