import { circle, line, polygon, rect, ring, times } from '../core/svg.mjs'

const size = 768

/** What can stand behind a person: each takes its ground colour and the colour of its figure. */
export const backdrops = {
  steps: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    times(5, (index) => rect(index * 154, size - 130 - index * 128, 155, size, figure)),
  circle: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    rect(380, 0, 10, size, figure) +
    ring(385, 340, 292, figure, 10),
  disc: (ground, figure) => rect(0, 0, size, size, ground) + circle(384, 340, 300, figure),
  arcs: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    times(6, (index) => ring(size, size, 240 + index * 132, figure, 26)),
  seats: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    times(70, (index) => {
      const row = Math.floor(index / 7)
      return rect((index % 7) * 118 - 26 + (row % 2) * 59, row * 80 - 8, 74, 50, figure, 14)
    }),
  beams: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    polygon(
      [
        [60, 0],
        [170, 0],
        [size, 640],
        [size, size],
        [640, size],
      ],
      figure,
    ) +
    polygon(
      [
        [708, 0],
        [598, 0],
        [0, 640],
        [0, size],
        [128, size],
      ],
      figure,
    ),
  ticket: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    rect(76, 84, 616, 800, figure, 36) +
    circle(76, 300, 40, ground) +
    circle(692, 300, 40, ground) +
    line('M136,300 H640', ground, 9, 'stroke-dasharray="1 25"'),
  mown: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    times(5, (index) =>
      polygon(
        [
          [-260 + index * 260, size],
          [-130 + index * 260, size],
          [190 + index * 260, 0],
          [60 + index * 260, 0],
        ],
        figure,
      ),
    ),
  corner: (ground, figure) =>
    rect(0, 0, size, size, ground) +
    ring(0, 0, 560, figure, 12) +
    ring(0, 0, 250, figure, 12) +
    circle(0, 0, 120, figure),
}
