import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How long one ffmpeg run may take before it is ended, in milliseconds. */
const LIMIT = 15 * 60 * 1000

/** Runs ffmpeg with `args`, feeds it `input`, returns its standard output. Fails with ffmpeg's own last words. */
export function ffmpeg(args, input) {
  return new Promise((resolve, reject) => {
    const child = spawn('ffmpeg', ['-hide_banner', '-loglevel', 'error', '-y', ...args], {
      timeout: LIMIT,
    })
    const output = []
    const complaints = []
    child.stdout.on('data', (chunk) => output.push(chunk))
    child.stderr.on('data', (chunk) => complaints.push(chunk))
    child.on('error', (error) =>
      reject(new Error(`ffmpeg did not start: ${error.message}. Install ffmpeg and try again.`)),
    )
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output))
      else
        reject(
          new Error(`ffmpeg ended with ${code}: ${Buffer.concat(complaints).toString().trim()}`),
        )
    })
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}

/**
 * A WebP of at most `limit` bytes from a PNG: the best quality of a falling series that fits.
 * Fails when even the lowest does not.
 */
export async function webp(png, limit) {
  for (const quality of [90, 84, 78, 70, 60, 50]) {
    // Through a file: the length in the header of a WebP is written last, which a pipe does not allow.
    const picture = await throughFile('webp', (path) =>
      ffmpeg(
        [
          ...['-f', 'png_pipe', '-i', '-'],
          ...['-c:v', 'libwebp', '-quality', `${quality}`, '-preset', 'drawing'],
          ...['-compression_level', '6', '-f', 'webp', path],
        ],
        png,
      ),
    )
    if (picture.length <= limit) return picture
  }
  throw new Error(`the picture does not fit into ${limit} bytes as WebP: draw it with less detail`)
}

/** The same PNG with a palette of at most `colours` colours and no dithering: small files, clean flat areas. */
export function quantised(png, colours = 256) {
  const graph = `split[a][b];[a]palettegen=max_colors=${colours}:reserve_transparent=0:stats_mode=full[p];[b][p]paletteuse=dither=none`
  return ffmpeg(
    [
      '-f',
      'png_pipe',
      '-i',
      '-',
      '-filter_complex',
      graph,
      '-compression_level',
      '100',
      '-pred',
      'none',
      '-f',
      'image2pipe',
      '-c:v',
      'png',
      '-',
    ],
    png,
  )
}

/** Lets `write(path)` make a file with the ending `extension`, returns its contents, and removes it. */
export async function throughFile(extension, write) {
  const folder = await mkdtemp(join(tmpdir(), 'studio-'))
  try {
    const path = join(folder, `out.${extension}`)
    await write(path)
    return await readFile(path)
  } finally {
    await rm(folder, { recursive: true })
  }
}
