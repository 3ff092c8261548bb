import { chai } from 'vitest';

/** A text that is longer is a document, whose lines would hide what is missing. */
const MAX_LENGTH = 500;

const overwritten = Symbol.for('short-failures');

/*
 * A setup file of vitest. The failure of an assertion about a part of a document names that part in its first line, and
 * does not print the document.
 */
chai.use((_, { flag, overwriteMethod }) => {
  const { prototype } = chai.Assertion;
  // Files share a worker.
  if (Reflect.has(prototype, overwritten)) return;
  Reflect.set(prototype, overwritten, true);
  for (const method of ['toContain', 'toMatch']) {
    overwriteMethod(
      prototype,
      method,
      (original: (...args: unknown[]) => unknown) =>
        function assertShortly(this: object, ...args: unknown[]): unknown {
          try {
            return original.apply(this, args);
          } catch (error) {
            const text: unknown = flag(this, 'object');
            if (error instanceof chai.AssertionError && typeof text === 'string' && text.length > MAX_LENGTH)
              Object.assign(error, { actual: undefined, expected: undefined, showDiff: false });
            throw error;
          }
        },
    );
  }
});
