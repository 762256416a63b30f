import Check from 'lucide-react/icons/check'
import X from 'lucide-react/icons/x'

import { cn } from '@/lib/cn'

import { copy } from './copy'

/** Side by side on phones too: the topic is a line of its own there, above the two answers. */
const ROW = 'max-sm:grid max-sm:grid-cols-[11fr_10fr]'

/** Shows Terrace beside social platforms, line by line. */
export function ComparisonTable() {
  return (
    <table className="w-full table-fixed border-collapse text-left max-sm:block">
      <caption className="pb-3 text-left font-display text-heading font-bold max-sm:block sm:pb-8">
        {copy.comparisonTitle}
      </caption>
      <thead className="max-sm:block">
        <tr className={cn(ROW, 'font-display text-subheading max-sm:text-small')}>
          <th
            scope="col"
            className="w-[30%] py-5 pr-4 text-body font-semibold text-stone max-sm:sr-only"
          >
            {copy.topicColumn}
          </th>
          <th
            scope="col"
            className="bg-pitch px-3 py-2 font-bold text-chalk sm:px-5 sm:py-5 lg:px-8"
          >
            {copy.terraceColumn}
          </th>
          <th scope="col" className="px-3 py-2 font-semibold sm:px-5 sm:py-5 lg:px-8">
            {copy.platformsColumn}
          </th>
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {copy.comparison.map(({ topic, terrace, platforms }) => (
          <tr key={topic} className={ROW}>
            <th
              scope="row"
              className="border-line align-top font-semibold max-sm:col-span-2 max-sm:bg-mist max-sm:px-3 max-sm:py-1 max-sm:text-label sm:border-t sm:py-5 sm:pr-4"
            >
              {topic}
            </th>
            <td className="border-chalk/20 bg-pitch px-3 py-2 align-top font-semibold text-chalk max-sm:text-small max-sm:leading-snug sm:border-t sm:px-5 sm:py-5 lg:px-8">
              <span className="flex gap-1.5 sm:gap-3">
                <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-floodlight sm:size-5" />
                {terrace}
              </span>
            </td>
            <td className="border-line px-3 py-2 align-top max-sm:text-small max-sm:leading-snug sm:border-t sm:px-5 sm:py-5 lg:px-8">
              <span className="flex gap-1.5 sm:gap-3">
                <X aria-hidden className="mt-0.5 size-4 shrink-0 text-flare-text sm:size-5" />
                {platforms}
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
