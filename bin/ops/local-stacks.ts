import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const localStack = z.object({
  pid: z.int().positive(),
  /** The port of its API. */
  port: z.int(),
  /** Its AWS endpoint. */
  endpoint: z.url(),
  /** The stack's outputs, by name. */
  outputs: z.record(z.string(), z.string()),
});

/** A local stack that runs on this machine (`npm start`). */
export type LocalStack = z.infer<typeof localStack>;

const fileName = /^monitoring-notifications-\d+\.json$/;

/** Writes the file by which a running local stack is found. @returns what removes it */
export function announce(stack: LocalStack): () => void {
  const file = join(tmpdir(), `monitoring-notifications-${stack.pid}.json`);
  writeFileSync(file, JSON.stringify(stack), { mode: 0o600 });
  return () => rmSync(file, { force: true });
}

/** The local stacks that this user runs now; the files of those that died without a word are removed. */
export function runningStacks(): LocalStack[] {
  const files = readdirSync(tmpdir()).filter((name) => fileName.test(name));
  return files.flatMap((name) => {
    const file = join(tmpdir(), name);
    const stack = read(file);
    if (!stack) return [];
    if (isRunning(stack.pid)) return [stack];
    rmSync(file, { force: true });
    return [];
  });
}

/** Another user's file is passed over: what it says is not ours to believe. */
function read(file: string): LocalStack | undefined {
  try {
    if (statSync(file).uid !== process.getuid?.()) return undefined;
    return localStack.safeParse(JSON.parse(readFileSync(file, 'utf8'))).data;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
