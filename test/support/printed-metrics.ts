import { vi } from 'vitest';
import * as z from 'zod';

const metricLine = z.looseObject({ _aws: z.object({ CloudWatchMetrics: z.array(z.unknown()) }) });

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
};

/** Records what is printed from now on; `vi.restoreAllMocks()` ends it. @returns the metrics among it */
export const recordMetrics = (): (() => z.infer<typeof metricLine>[]) => {
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
  return () => lines.flatMap((line) => metricLine.safeParse(parsed(line)).data ?? []);
};
