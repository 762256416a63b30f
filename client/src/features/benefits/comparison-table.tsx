import { Check, X } from 'lucide-react'

import { copy } from './copy'

/** Shows Terrace beside social platforms, line by line. */
export function ComparisonTable() {
  return (
    <table className="w-full table-fixed border-collapse text-left">
      <caption className="pb-8 text-left font-display text-heading font-bold">
        {copy.comparisonTitle}
      </caption>
      <thead className="max-sm:hidden">
        <tr className="font-display text-subheading">
          <th scope="col" className="w-[30%] py-5 pr-4 text-body font-semibold text-stone">
            {copy.topicColumn}
          </th>
          <th scope="col" className="bg-pitch px-5 py-5 font-bold text-chalk lg:px-8">
            {copy.terraceColumn}
          </th>
          <th scope="col" className="px-5 py-5 font-semibold lg:px-8">
            {copy.platformsColumn}
          </th>
        </tr>
      </thead>
      <tbody>
        {copy.comparison.map(({ topic, terrace, platforms }) => (
          <tr key={topic} className="max-sm:mb-8 max-sm:block">
            <th
              scope="row"
              className="border-line py-5 pr-4 align-top font-semibold max-sm:block max-sm:pb-3 max-sm:font-display max-sm:text-subheading sm:border-t"
            >
              {topic}
            </th>
            <td className="border-chalk/20 bg-pitch px-5 py-4 align-top font-semibold text-chalk max-sm:block sm:border-t sm:py-5 lg:px-8">
              <span className="flex gap-3">
                <Check aria-hidden className="mt-0.5 size-5 shrink-0 text-floodlight" />
                <span>
                  <span className="block text-label font-medium text-chalk/80 sm:hidden">
                    {copy.terraceColumn}
                  </span>
                  {terrace}
                </span>
              </span>
            </td>
            <td className="border-line px-5 py-4 align-top max-sm:block max-sm:bg-mist sm:border-t sm:py-5 lg:px-8">
              <span className="flex gap-3">
                <X aria-hidden className="mt-0.5 size-5 shrink-0 text-flare-text" />
                <span>
                  <span className="block text-label font-medium text-stone sm:hidden">
                    {copy.platformsColumn}
                  </span>
                  {platforms}
                </span>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
