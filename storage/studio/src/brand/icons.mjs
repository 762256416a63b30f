import { mist, paper, pitch, stone, mix } from '../core/palette.mjs'
import { document, group, rect, times } from '../core/svg.mjs'
import {
  fullBleedDocument,
  logoDocument,
  markDocument,
  maskableDocument,
  steps,
  tinyDocument,
} from './mark.mjs'

/** An ICO file of PNG pictures; `pictures` are pairs of edge length and PNG. */
function ico(pictures) {
  const header = Buffer.alloc(6 + 16 * pictures.length)
  header.writeUInt16LE(1, 2)
  header.writeUInt16LE(pictures.length, 4)
  let offset = header.length
  pictures.forEach(([edge, png], index) => {
    const entry = 6 + 16 * index
    header.writeUInt8(edge, entry)
    header.writeUInt8(edge, entry + 1)
    header.writeUInt16LE(1, entry + 4)
    header.writeUInt16LE(32, entry + 6)
    header.writeUInt32LE(png.length, entry + 8)
    header.writeUInt32LE(offset, entry + 12)
    offset += png.length
  })
  return Buffer.concat([header, ...pictures.map(([, png]) => png)])
}

const manifest = {
  name: 'Terrace',
  short_name: 'Terrace',
  description: 'The white-label fan-engagement platform for sports clubs.',
  start_url: '/',
  display: 'browser',
  background_color: paper,
  theme_color: pitch,
  icons: [
    { src: '/icon-192.png', sizes: '192x192', type: 'image/png' },
    { src: '/icon-512.png', sizes: '512x512', type: 'image/png' },
    { src: '/icon-maskable-512.png', sizes: '512x512', type: 'image/png', purpose: 'maskable' },
  ],
}

/** A quiet 16:9 picture that stands in for one that did not load. */
function placeholder() {
  const quiet = mix(mist, stone, 0.1)
  const stand = times(8, (index) => rect(index * 200, 760 - index * 88, 201, 900, quiet))
  return document(
    1600,
    900,
    rect(0, 0, 1600, 900, mist) +
      stand +
      group(
        'translate(716 366) scale(2.625)',
        rect(0, 0, 64, 64, mix(pitch, mist, 0.35), 14) + steps(mist, mist),
      ),
  )
}

/**
 * Everything that a browser asks for at the root of the site, by file name, and the logos.
 * `root` marks what the client's public folder needs too, `bucket: false` what only that folder needs.
 */
export async function icons(studio) {
  const png = (svg, edge) => studio.still(svg, edge, edge)
  const favicon = ico(
    await Promise.all(
      [16, 32, 48].map(async (edge) => [
        edge,
        await png(edge === 16 ? tinyDocument() : markDocument(), edge),
      ]),
    ),
  )
  return [
    { name: 'favicon.ico', data: favicon, root: true },
    { name: 'favicon.svg', data: markDocument(), root: true },
    { name: 'apple-touch-icon.png', data: await png(fullBleedDocument(), 180), root: true },
    { name: 'icon-192.png', data: await png(markDocument(), 192), root: true },
    { name: 'icon-512.png', data: await png(markDocument(), 512), root: true },
    { name: 'icon-maskable-512.png', data: await png(maskableDocument(), 512), root: true },
    { name: 'site.webmanifest', data: `${JSON.stringify(manifest, null, 2)}\n`, root: true },
    { name: 'placeholder.svg', data: placeholder(), root: true, bucket: false },
    { name: 'terrace-mark.svg', data: markDocument() },
    { name: 'terrace-logo.svg', data: logoDocument() },
  ]
}
