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

/** A part of a formatted text. */
export type Token = { type: 'name' | 'string' | 'literal' | 'plain'; text: string };

const TOKENS = {
  JSON: /(?<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*")|(?<literal>-?\d[\d.eE+-]*|\b(?:true|false|null)\b)/g,
  XML: /(?<name><[/?!]?[^\s<>/?]+|[/?]?>)|(?<string>(?<=[\w:-]=)"[^"<]*")/g,
};

/** Splits a formatted text for syntax highlighting. */
export const tokenize = ({ format, text }: FormattedBody): Token[] => {
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: match, index, groups = {} } of text.matchAll(TOKENS[format])) {
    if (index > end) tokens.push({ type: 'plain', text: text.slice(end, index) });
    const type = groups.name ? 'name' : groups.string ? 'string' : 'literal';
    tokens.push({ type, text: match });
    end = index + match.length;
  }
  if (end < text.length) tokens.push({ type: 'plain', text: text.slice(end) });
  return tokens;
};
