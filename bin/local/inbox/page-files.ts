import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

export type PageFile = { contentType: string; content: string };

const DIRECTORY = join(import.meta.dirname, 'page');

/** Bundles the script with its libraries, so that the page needs no network. */
const buildScript = (): string => {
  const { outputFiles } = buildSync({
    entryPoints: [join(DIRECTORY, 'main.tsx')],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    sourcemap: 'inline',
    logLevel: 'error',
  });
  return outputFiles[0]?.text ?? '';
};

let script: string | undefined;

const readPageFile = async (name: string, contentType: string): Promise<PageFile> => ({
  contentType: `${contentType}; charset=utf-8`,
  content: await readFile(join(DIRECTORY, name), 'utf8'),
});

export const readPage = (): Promise<PageFile> => readPageFile('index.html', 'text/html');

/** The files that the page loads, by path. The script is built at the first request. */
export const pageFiles = new Map<string, () => Promise<PageFile>>([
  ['/style.css', () => readPageFile('style.css', 'text/css')],
  [
    '/script.js',
    async () => {
      script ??= buildScript();
      return { contentType: 'text/javascript; charset=utf-8', content: script };
    },
  ],
]);

/** Permits only what the page consists of: nothing from other origins, and no script from a message. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * Permits what the HTML of an email may do: no scripts, forms, links or popups, and nothing from the network. It also
 * applies if a browser opens the HTML outside the page.
 */
export const EMAIL_POLICY = [
  'sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join('; ');
