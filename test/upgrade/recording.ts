import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import type { Assembly } from '../../bin/local/assembly-files.ts';
import { startFaultyStack } from '../faults/support.ts';
import { type Exercised, exercise } from './exercise.ts';
import { loadItems, parseStoredData, type StoredData, storedData, toLines } from './stored-data.ts';

/** The tenant of recordings. */
const TENANT = 'recorded';

/**
 * The time at which recordings are made, by the clock of the stack. It is long ago, so that a recording works the same
 * however old it is: the stack that uses it runs at the same time, before anything in it expires.
 */
const RECORDED_AT_MS = Date.UTC(2026, 0, 15, 12);

/** Settings of a stack that is recorded, or that runs with a recording. Real delays keep the retry in its queue. */
const SETTINGS = { retryDelayScale: '1' };

const issued = z.object({ id: z.string(), token: z.string() });
const exercised: z.ZodType<Exercised> = z.object({
  tenant: z.string(),
  tokens: z.object({ admin: issued, creator: issued, observer: issued, revoked: issued }),
  notifications: z.record(z.string(), z.string()),
  events: z.record(z.string(), z.string()),
});

const description = z.object({
  /** The time of the stack's clock, ms since the epoch. */
  timeMs: z.number(),
  exercised,
  /** What the API returned at that time, by path. */
  responses: z.record(z.string(), z.unknown()),
});

/** The data that a release stored for one tenant, and what its API returned. */
export type Recording = z.infer<typeof description> & StoredData;

const synthesis = z.object({
  synthesize: z.custom<(settings: Record<string, string>) => Assembly>((value) => typeof value === 'function'),
});

/** Starts the local stack with the template and the functions of a checkout of this repository. */
export const startRelease = async (checkout: string) => {
  const file = pathToFileURL(join(checkout, 'bin/local/assembly.ts')).href;
  const { synthesize } = synthesis.parse(await import(/* @vite-ignore */ file));
  return startFaultyStack(SETTINGS, { synthesize });
};

/** Runs the release of a checkout, and records what it stores. */
export const record = async (checkout: string): Promise<Recording> => {
  const world = await startRelease(checkout);
  try {
    await world.stack.advance(RECORDED_AT_MS - world.stack.clock.now());
    const before = await storedData(world);
    const isNew = (item: unknown) => !before.items.some((other) => toLines([other]) === toLines([item]));
    const { data, close } = await exercise(world, TENANT);
    const token = data.tokens.admin.token;
    const paths = [
      '/account',
      '/tokens',
      '/audits',
      '/notifications',
      ...Object.values(data.notifications).map((id) => `/notifications/${id}/deliveries`),
    ];
    const responses = await Promise.all(
      paths.map(async (path) => [path, (await world.call('GET', path, { token })).body] as const),
    );
    const { items, messages } = await storedData(world);
    close();
    return {
      timeMs: world.stack.clock.now(),
      exercised: data,
      responses: Object.fromEntries(responses),
      items: items.filter(isNew),
      messages,
    };
  } finally {
    await world.stack.stop();
  }
};

/** Writes a recording to a directory. */
export const writeRecording = (directory: string, { items, messages, ...rest }: Recording): void => {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'recording.json'), `${JSON.stringify(rest, null, 2)}\n`);
  writeFileSync(join(directory, 'items.jsonl'), toLines(items));
  writeFileSync(join(directory, 'messages.jsonl'), toLines(messages));
};

/** Reads a recording from a directory. */
export const readRecording = (directory: string): Recording => {
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  return {
    ...description.parse(JSON.parse(read('recording.json'))),
    ...parseStoredData(read('items.jsonl'), read('messages.jsonl')),
  };
};

/** Starts the release of a checkout at the time of a recording, with its items but without its messages. */
export const startWithItems = async (checkout: string, { timeMs, items }: Recording) => {
  const world = await startRelease(checkout);
  await world.stack.advance(timeMs - world.stack.clock.now());
  await loadItems(world, items);
  return world;
};
