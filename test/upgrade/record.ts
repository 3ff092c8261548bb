/**
 * `npm run record-release [-- CHECKOUT]`: records what a release stores in `test/upgrade/<version>`, so that later ones
 * are tested with its data. CHECKOUT is a directory with the release and its dependencies, by default this one.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { record, writeRecording } from './recording.ts';

const checkout = resolve(process.argv[2] ?? '.');
const manifest: unknown = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
const { version } = z.object({ version: z.string() }).parse(manifest);
const directory = join(import.meta.dirname, version);
const recording = await record(checkout);
writeRecording(directory, recording);
process.stdout.write(
  `Recorded ${recording.items.length} items and ${recording.messages.length} messages in ${directory}.\n`,
);
