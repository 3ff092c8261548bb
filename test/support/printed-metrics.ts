import { vi } from 'vitest';
import * as z from 'zod';

const metricLine = z.looseObject({ _aws: z.object({ CloudWatchMetrics: z.array(z.unknown()) }) });

const parseJson = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

/** Captures standard output until `vi.restoreAllMocks()`. @returns a function that returns the printed metrics */
export const recordMetrics = (): (() => z.infer<typeof metricLine>[]) => {
  const lines: string[] = [];
  vi.stubEnv('STACK_NAME', 'local');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  return () => lines.flatMap((line) => metricLine.safeParse(parseJson(line)).data ?? []);
};
