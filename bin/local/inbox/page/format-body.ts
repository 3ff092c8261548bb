import formatXml from 'xml-formatter';
import { parseJson } from '../../../../shared/contracts/json.ts';

/** A body in a form for people. */
export type FormattedBody = { format: 'JSON' | 'XML'; text: string };

/** Formats a body as JSON or XML. Returns undefined if it is neither. Numbers keep all their digits. */
export const formatBody = (body: string): FormattedBody | undefined => {
  const start = body.trimStart()[0];
  try {
    if (start === '{' || start === '[') return { format: 'JSON', text: JSON.stringify(parseJson(body), null, 2) };
    if (start === '<') {
      const text = formatXml(body, { indentation: '  ', collapseContent: true, strictMode: true, lineSeparator: '\n' });
      return { format: 'XML', text };
    }
    return undefined;
  } catch {
    // The body is cut off, invalid or too deeply nested: the page shows it as it arrived.
    return undefined;
  }
};
