/** The widths in which a picture is fetched, in pixels, and how wide it is on the page (the attribute `sizes` of HTML). */
export interface PictureWidths {
  widths: readonly number[]
  sizes: string
}

/**
 * The demo's picture, in a phone that is at most 19 or 20 rem wide, its frame included. Not less than it is shown in:
 * browsers count a picture that is enlarged as smaller when they look for the largest one (LCP).
 */
export const DEMO_WIDTHS: PictureWidths = {
  widths: [304, 400, 520, 608],
  sizes: '(min-width: 48rem) 19rem, min(14rem, 61vw - 1rem)',
}

/** An article's picture over the whole width of the page. */
export const ARTICLE_WIDTHS: PictureWidths = {
  widths: [480, 720, 1080, 1600],
  sizes: '(min-width: 88rem) 80rem, 92vw',
}

/** An article's picture on its card, of which there are one, two or three in a row. */
export const CARD_WIDTHS: PictureWidths = {
  widths: [320, 480, 720, 960],
  sizes: '(min-width: 88rem) 25rem, (min-width: 64rem) 28vw, (min-width: 48rem) 44vw, 92vw',
}

/** Returns the value of `srcset` for the rendered picture at `url`. */
export function widthsOf(url: string, { widths }: PictureWidths) {
  return widths.map((width) => `${url}?width=${String(width)} ${String(width)}w`).join(', ')
}

/**
 * Returns the value of `srcset` for a square of `side` CSS pixels, cut out of the middle of the rendered picture at
 * `url`.
 */
export function squareOf(url: string, side: number) {
  return [1, 2, 3]
    .map((density) => {
      const pixels = String(side * density)
      return `${url}?width=${pixels}&height=${pixels} ${String(density)}x`
    })
    .join(', ')
}
