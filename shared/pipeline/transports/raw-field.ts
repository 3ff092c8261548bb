/**
 * Returns an object as JSON with one more field, whose value is JSON already: large values are neither parsed nor
 * serialized again.
 *
 * @param fields at least one
 */
export const withRawField = (fields: Readonly<Record<string, unknown>>, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;
