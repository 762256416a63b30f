import { formatNumber, formatPounds } from '@/lib/numbers'

import { incomeOf, type Assumptions } from './estimate'

export const copy = {
  title: 'Work out a year.',
  lead: 'Four assumptions, all of them yours. Guarantee and share are calculated on revenue, never on profit.',
  form: 'Calculator of guarantee and share',
  fans: 'Fans in the app',
  revenue: 'Revenue per fan and year',
  guarantee: 'Guarantee a year',
  share: 'Your share of the revenue',
  result: 'for the club, if the year goes as planned',
  outcomes: [
    { label: 'As planned', part: 1 },
    { label: 'Half the revenue', part: 0.5 },
    { label: 'No revenue at all', part: 0 },
  ],
  legend: { guarantee: 'Guarantee', share: 'Share' },
  action: 'Ask for these figures',
  note: 'An example, not an offer: guarantee and share are agreed with each club.',
  message: (assumptions: Assumptions) =>
    [
      'We would like to talk about these figures:',
      `${formatNumber(assumptions.fans)} fans in the app, ${formatPounds(assumptions.revenue)} of revenue per fan and year,`,
      `a guarantee of ${formatPounds(assumptions.guarantee)} a year and a share of ${assumptions.share}%.`,
      `As planned, that would be ${formatPounds(incomeOf(assumptions))} a year for the club.`,
    ].join(' '),
} as const
