import { fontStyles } from '../core/fonts.mjs'
import { ffmpeg, throughFile, webp } from '../core/encode.mjs'
import { seek } from './seek.mjs'
import { LENGTH, POSTER, RATE } from './timeline.mjs'

/** The film's size in pixels: even numbers, as the encoders want them. */
const WIDE = 608
const HIGH = 1316
const NAME = 'demo-20250514'
const POSTER_LIMIT = 60 * 1024

/** Every frame as a PNG, in order. */
async function frames(page) {
  const shots = []
  for (let index = 0; index < LENGTH * RATE; index += 1) shots.push(await shot(page, index / RATE))
  return shots
}

async function shot(page, time) {
  await page.evaluate((svg) => {
    globalThis.document.body.innerHTML = svg
  }, seek(time))
  return page.screenshot()
}

/** What ffmpeg is told of the frames, and of the colours that a screen expects. */
const source =
  `-f png_pipe -framerate ${RATE} -i - -an -vf scale=out_color_matrix=bt709,format=yuv420p ` +
  '-colorspace bt709 -color_primaries bt709 -color_trc bt709'

/** The encoders' settings, chosen for flat drawings: both files stay below 1.5 MB. */
const encodings = {
  mp4: '-c:v libx264 -preset slow -tune animation -profile:v high -crf 25 -movflags +faststart',
  webm: '-c:v libvpx-vp9 -crf 35 -b:v 0 -deadline good -cpu-used 3 -row-mt 1 -g 240',
}

/** The frames as one film; through a file, because ffmpeg cannot put an index in front of a pipe. */
const encoded = (extension, sequence) =>
  throughFile(extension, (path) =>
    ffmpeg([...`${source} ${encodings[extension]}`.split(' '), path], sequence),
  )

/**
 * The demo film as MP4 and WebM without a sound track, and the picture that stands in for it.
 * Returns the files' names and contents.
 */
export async function film(studio) {
  const page = await studio.open(WIDE, HIGH)
  await page.setContent(
    `<!doctype html><style>${fontStyles()}html,body{margin:0;overflow:hidden}svg{display:block;width:${WIDE}px;height:${HIGH}px}</style>`,
  )
  await page.evaluate(() => Promise.all([...globalThis.document.fonts].map((face) => face.load())))
  const poster = await webp(await shot(page, POSTER), POSTER_LIMIT)
  const sequence = Buffer.concat(await frames(page))
  await page.context().close()
  return [
    { name: `${NAME}.webp`, data: poster },
    { name: `${NAME}.mp4`, data: await encoded('mp4', sequence) },
    { name: `${NAME}.webm`, data: await encoded('webm', sequence) },
  ]
}
