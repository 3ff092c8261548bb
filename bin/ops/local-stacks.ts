import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const announcedStack = z.object({
  pid: z.int().positive(),
  port: z.int(),
  endpoint: z.url(),
  outputs: z.record(z.string(), z.string()),
});

export type AnnouncedStack = z.infer<typeof announcedStack>;

const FILE_NAME = /^monitoring-notifications-\d+\.json$/;

/** Writes the file through which the command line finds a local stack. @returns a function that removes the file */
export const announce = (stack: AnnouncedStack): (() => void) => {
  const file = join(tmpdir(), `monitoring-notifications-${stack.pid}.json`);
  writeFileSync(file, JSON.stringify(stack), { mode: 0o600 });
  return () => rmSync(file, { force: true });
};

/** Returns the running local stacks of this user, and removes the files of stacks that no longer run. */
export const runningStacks = (): AnnouncedStack[] => {
  const files = readdirSync(tmpdir()).filter((name) => FILE_NAME.test(name));
  return files.flatMap((name) => {
    const file = join(tmpdir(), name);
    const stack = read(file);
    if (!stack) return [];
    if (isRunning(stack.pid)) return [stack];
    rmSync(file, { force: true });
    return [];
  });
};

/** Ignores the files of other users, which are not trusted. */
const read = (file: string): AnnouncedStack | undefined => {
  try {
    if (statSync(file).uid !== process.getuid?.()) return undefined;
    return announcedStack.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
