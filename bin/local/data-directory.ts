import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { StartError } from 'local-aws/start-error.ts';
import { type Tokens, tokensSchema } from './tokens.ts';

const TABLES = 'tables';
const TOKENS = 'tokens.json';

/** The entries of a data directory, including the file that becomes the tokens. */
const ENTRIES = [TABLES, TOKENS, `${TOKENS}.new`];

/**
 * Opens a data directory and creates it if necessary. Only the user can read it, because it contains tokens.
 *
 * @throws StartError if it cannot be used, or contains other files
 */
export const openDataDirectory = (given: string) => {
  const path = resolve(given);
  const tokensFile = join(path, TOKENS);
  const entries = createDirectory(path);
  const other = entries.find((name) => !ENTRIES.includes(name));
  if (other !== undefined) {
    throw new StartError(
      `${path} is not a data directory, because it contains ${other}: pass --data with another one.`,
    );
  }
  chmodSync(path, 0o700);
  return {
    path,
    tables: join(path, TABLES),
    /** The tokens of the last start; undefined at the first one. The tables contain only their hashes. */
    tokens: entries.includes(TOKENS) ? readTokens(tokensFile) : undefined,
    saveTokens(tokens: Tokens): void {
      writeFileSync(`${tokensFile}.new`, `${JSON.stringify(tokens, null, 2)}\n`, { mode: 0o600 });
      renameSync(`${tokensFile}.new`, tokensFile);
    },
  };
};

/** A directory that keeps the tables and tokens of a local stack (`npm start -- --data DIR`). */
export type DataDirectory = ReturnType<typeof openDataDirectory>;

/** Returns the names of the entries. */
const createDirectory = (path: string): string[] => {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return readdirSync(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`${path} cannot be used as data directory: ${reason}.`);
  }
};

const readTokens = (file: string): Tokens => {
  try {
    return tokensSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new StartError(`${file} is damaged: delete this file to issue new tokens; the tables remain.`);
  }
};
