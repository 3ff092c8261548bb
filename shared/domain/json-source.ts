/** The values to find below a value: the positions of their paths in the list, if it is one of them, and further keys. */
type Wanted = { positions: number[]; below: Map<string, Wanted> };

/** Values below more keys than this are not found, so that recursion is bounded. */
const MAX_KEYS = 100;

const newWanted = (): Wanted => ({ positions: [], below: new Map() });

const wantedOf = (paths: readonly (readonly string[])[]): Wanted => {
  const root = newWanted();
  for (const [position, path] of paths.entries()) {
    if (path.length > MAX_KEYS) continue;
    let node = root;
    for (const key of path) {
      const next = node.below.get(key) ?? newWanted();
      node.below.set(key, next);
      node = next;
    }
    node.positions.push(position);
  }
  return root;
};

const isEscaped = (text: string, quote: number): boolean => {
  let start = quote;
  while (text[start - 1] === '\\') start--;
  return (quote - start) % 2 === 1;
};

/** Returns the position after the string that starts at a quote. */
const afterString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end + 1;
};

/** Returns the position after the object or list that starts here. */
const afterContainer = (text: string, start: number): number => {
  let depth = 0;
  for (let position = start; position < text.length; position++) {
    const character = text[position];
    if (character === '"') position = afterString(text, position) - 1;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return position + 1;
  }
  return text.length;
};

const afterScalar = (text: string, start: number): number => {
  let end = start;
  while (end < text.length && !',]}'.includes(text[end] ?? '')) end++;
  return end;
};

const afterValue = (text: string, start: number): number => {
  const first = text[start];
  if (first === '"') return afterString(text, start);
  return first === '{' || first === '[' ? afterContainer(text, start) : afterScalar(text, start);
};

const keyOf = (source: string): string => (source.includes('\\') ? String(JSON.parse(source)) : source.slice(1, -1));

/**
 * Returns the source texts of the values at paths in JSON, or undefined for paths without a value. So digits stay as they
 * are, and no object is built. Reads the text once, whatever the number of paths.
 *
 * @param text JSON without white space between its values, as `JSON.stringify` writes it
 * @param paths the keys that lead to each value; an index is the key of an entry of a list
 */
export const jsonSources = (text: string, paths: readonly (readonly string[])[]): (string | undefined)[] => {
  const sources: (string | undefined)[] = paths.map(() => undefined);

  /** Reads the value at `start`. @returns the position after it */
  const read = (start: number, { positions, below }: Wanted): number => {
    const isList = text[start] === '[';
    const isContainer = isList || text[start] === '{';
    const end = isContainer && below.size > 0 ? readEntries(start + 1, isList, below) : afterValue(text, start);
    for (const position of positions) sources[position] = text.slice(start, end);
    return end;
  };

  /** Reads the entries of an object or list. @returns the position after it */
  const readEntries = (start: number, isList: boolean, below: Wanted['below']): number => {
    let position = start;
    for (let index = 0; position < text.length && text[position] !== '}' && text[position] !== ']'; index++) {
      const valueStart = isList ? position : afterString(text, position) + 1;
      const wanted = below.get(isList ? String(index) : keyOf(text.slice(position, valueStart - 1)));
      position = wanted ? read(valueStart, wanted) : afterValue(text, valueStart);
      if (text[position] === ',') position++;
    }
    return position + 1;
  };

  read(0, wantedOf(paths));
  return sources;
};
