import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

export const readDocument = (file: string): string => readFileSync(resolve(root, file), 'utf8');

/** Returns the code blocks of a Markdown text in one language. */
export const codeBlocks = (text: string, language: string): string[] =>
  [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, name, code = '']) => (name === language ? [code] : []));
