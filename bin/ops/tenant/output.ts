import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { errorSummary, OperationError } from '../errors.ts';

export type Output = {
  write: (text: string) => Promise<void>;
  close: () => void;
  /** Ends an export that failed: a file is deleted, so that it is not taken for a complete one. */
  discard: () => void;
};

/** Standard output, at the speed of its reader. */
export const standardOutput: Output = {
  async write(text) {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  },
  close: () => undefined,
  discard: () => undefined,
};

/** Creates a file that only its owner can read. @throws OperationError if it exists or cannot be created */
export const createFile = (path: string): Output => {
  try {
    const file = openSync(path, 'wx', 0o600);
    // `writeSync` may write only a part, without an error.
    return {
      write: async (text) => writeFileSync(file, text),
      close: () => closeSync(file),
      discard: () => {
        closeSync(file);
        rmSync(path);
      },
    };
  } catch (error) {
    throw new OperationError(`${path} cannot be created, pass the path of a new file: ${errorSummary(error)}`);
  }
};
