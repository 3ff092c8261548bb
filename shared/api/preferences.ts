/** The maximum length of a `Prefer` header, in UTF-16 units. A longer one is ignored. */
export const MAX_PREFER_LENGTH = 1_024;

/** A token (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** A quoted string (RFC 9110, section 5.6.4). */
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;

/** Splits a text at a separator, except within quoted strings. */
const split = (text: string, separator: string): string[] => {
  const parts: string[] = [];
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
};

const isWord = (text: string): boolean => TOKEN.test(text) || QUOTED.test(text);

/**
 * Returns the values of the preferences in a `Prefer` header (RFC 7240, section 2) by their names in lower case. Of a
 * repeated preference the first one counts. A value that is absent is empty. Parameters are ignored, because those of
 * `handling` and `return` mean nothing, and so is what is malformed.
 *
 * @param header the values of all `Prefer` headers, joined by commas, as API Gateway does
 */
export const parsePreferences = (header = ''): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>();
  if (header.length > MAX_PREFER_LENGTH) return preferences;
  for (const element of split(header, ',')) {
    const [preference = ''] = split(element, ';');
    const [name = '', value = '', ...rest] = split(preference, '=');
    if (!TOKEN.test(name) || (value !== '' && !isWord(value)) || rest.length > 0) continue;
    const key = name.toLowerCase();
    const text = QUOTED.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
    if (!preferences.has(key)) preferences.set(key, text);
  }
  return preferences;
};
