import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The root of the repository. */
export const root = resolve(import.meta.dirname, '../..');

/** Returns the text of a file of the repository. */
export const readDocument = (file: string): string => readFileSync(resolve(root, file), 'utf8');

/** Returns the code blocks of a Markdown text in one language. */
export const codeBlocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, code = '']) => (name === language ? [code] : []));
