interface Post {
  title: string | null
  link: string
}

/** Returns the title of an article; where its row has none, the words of its address. */
export function postTitle({ title, link }: Post) {
  if (title) return title
  const words = link.replace(/^.*\//, '').replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
