import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { startLocalStack } from '../../../bin/local/stack.ts';
import { type LocalStackProcess, readyLine } from '../../support/local-stack-process.ts';

/*
 * A local stack in its own process that records when each alarm event reaches a queue, a function or a table. Run as a
 * main module, this file is that process. The hooks are those that tests use, so the stack runs the same code as
 * `npm start`.
 */

const step = z.object({
  /** The caller and action of an AWS call, such as `local-send-webhook PutItem`, or `invoke` and a function name. */
  name: z.string(),
  eventIds: z.array(z.string()),
  /** Milliseconds since the epoch, with fractions, comparable between processes. */
  startMs: z.number(),
  endMs: z.number(),
});

/** A call or an invocation that carried alarm events. */
export type Step = z.infer<typeof step>;

/** Returns the time in ms since the epoch, with fractions. */
export const preciseNowMs = (): number => performance.timeOrigin + performance.now();

/** Starts a traced stack in a process. */
export const startTracedStack = async (): Promise<LocalStackProcess & { steps: () => Promise<Step[]> }> => {
  const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const exited = once(child, 'exit');
  const failed = exited.then(() => {
    throw new Error('The traced stack has ended. `npm start` prints why a stack does not start.');
  });
  failed.catch(() => undefined);
  const nextMessage = async () => (await Promise.race([once(child, 'message'), failed]))[0];
  const ready = readyLine.parse(await nextMessage());
  return {
    ...ready,
    async stop() {
      child.kill();
      await exited;
    },
    /** Returns the steps since the previous call. */
    async steps() {
      child.send('steps');
      return z.array(step).parse(await nextMessage());
    },
  };
};

/** The IDs of `newAlarmEvent` in a message, a delivery or an invocation. */
const eventIdsIn = (text: string): string[] => [...new Set(text.match(/\w+:en\w+:al\w+:ch\w+:\d+:[A-Z]+/g))];

const serve = async () => {
  process.env.UV_THREADPOOL_SIZE ??= '64';
  const print = (line: string) => process.stderr.write(`${line}\n`);
  const stack = await startLocalStack({ log: print, logError: print });
  let steps: Step[] = [];
  const traced = async <Result>(name: string, text: string, run: () => Promise<Result> | Result): Promise<Result> => {
    const startMs = preciseNowMs();
    const result = await run();
    const eventIds = eventIdsIn(text);
    if (eventIds.length > 0) steps.push({ name, eventIds, startMs, endMs: preciseNowMs() });
    return result;
  };
  for (const [name, service] of stack.endpoint.services) {
    stack.endpoint.services.set(name, (call) =>
      traced(`${call.caller} ${call.action}`, call.body.toString(), () => service(call)),
    );
  }
  const { invoke } = stack.lambda;
  stack.lambda.invoke = (name, event) => traced(`invoke ${name}`, event, () => invoke(name, event));
  process.on('message', () => {
    process.send?.(steps);
    steps = [];
  });
  process.on('disconnect', () => process.exit());
  process.once('SIGTERM', () => void stack.stop().then(() => process.exit()));
  process.send?.(stack.ready);
};

if (import.meta.main) await serve();
