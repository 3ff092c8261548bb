/** Returns the text of an HTML page on one line, as a reader sees it, with its entities. */
export const wordsOf = (html: string): string =>
  html
    .slice(html.indexOf('<body'))
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
