import { Readable, Writable } from 'node:stream';
import { commandRequest } from './command-line.ts';

/** Replaces a standard stream of this process. */
const replace = (name: 'stdin' | 'stdout' | 'stderr', stream: Readable | Writable): void => {
  Object.defineProperty(process, name, { value: stream, configurable: true });
};

/** Creates a standard stream. @returns it, and a function that returns what was written to it */
const recorder = () => {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _, written) {
      chunks.push(chunk);
      written();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
};

let count = 0;

// Loading the command line takes half a second, so one process runs the commands of many tests, one after another.
process.on('message', async (message) => {
  const { args, input, env } = commandRequest.parse(message);
  const [out, err] = [recorder(), recorder()];
  replace('stdin', Readable.from([Buffer.from(input)]));
  replace('stdout', out.stream);
  replace('stderr', err.stream);
  process.argv.splice(2, Number.POSITIVE_INFINITY, ...args);
  // Node.js itself reads some variables, so `process.env` is not replaced.
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.exitCode = 0;
  // The query makes this module run again, with the other modules as they are.
  await import(`../../bin/ops/main.ts?${count++}`);
  process.send?.({ code: process.exitCode, out: out.text(), err: err.text() });
});
process.on('disconnect', () => process.exit());
