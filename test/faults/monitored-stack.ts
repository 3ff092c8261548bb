import { setTimeout as sleep } from 'node:timers/promises';
import { synthesize } from '../../bin/local/assembly.ts';
import { readMonitoring } from '../../bin/local/cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../../bin/local/cloudwatch/cloudwatch.ts';
import { MINUTE_MS } from '../../bin/local/cloudwatch/metric-store.ts';
import type { LocalStack, LocalStackOptions } from '../../bin/local/stack.ts';
import { startFaultyStack } from './support.ts';

/** Time moves in steps of this: shorter than any wait between two attempts that matters to an alarm, in ms. */
const STEP_MS = 15_000;

/** How long nothing must happen before time moves on, in ms of real time. */
const QUIET_MS = 4;

/** What a drill does at each step of time, given the minutes that have passed. */
export type Traffic = (minutes: number) => Promise<unknown> | unknown;

/** The declared stack with CloudWatch: its metrics are collected, and the alarms of its own template evaluated over them. */
export const startMonitoredStack = async (settings: Record<string, string> = {}) => {
  let cloudWatch: CloudWatch | undefined;
  let stack: LocalStack | undefined;
  const now = () => stack?.clock.now() ?? Date.now();
  const problems: unknown[] = [];
  const options: LocalStackOptions = {
    synthesize(all) {
      const assembly = synthesize(all);
      cloudWatch = new CloudWatch({ plan: readMonitoring(assembly.template), now });
      return assembly;
    },
    rawLog(line, functionName) {
      try {
        cloudWatch?.log(line, functionName);
      } catch (error) {
        problems.push(error);
      }
    },
    onInvocation: (report) => cloudWatch?.invocation(report),
    onRequest: (report) => cloudWatch?.request(report),
  };
  const world = await startFaultyStack({ retryScale: '1', ...settings }, options);
  stack = world.stack;
  if (!cloudWatch) throw new Error('The stack was started without its template.');
  const watch: CloudWatch = cloudWatch;
  const { queues, lambda } = world.stack;

  const isQuiet = () =>
    lambda.busy() === 0 && [...queues.values()].every(({ counts, waiting }) => waiting === 0 || counts.visible === 0);

  /** Resolves when nobody works and nothing can be received, for a moment. */
  const settled = async (): Promise<void> => {
    for (let quietSince = performance.now(); performance.now() - quietSince < QUIET_MS; ) {
      await sleep(1);
      if (!isQuiet()) quietSince = performance.now();
    }
  };

  /** Lets time pass while traffic flows; the alarms are evaluated at the end of each minute. */
  const pass = async (minutes: number, traffic: Traffic = () => undefined): Promise<void> => {
    const startMs = now();
    for (let step = 0; step < (minutes * MINUTE_MS) / STEP_MS; step++) {
      await traffic((now() - startMs) / MINUTE_MS);
      await settled();
      const minute = Math.floor(now() / MINUTE_MS);
      world.stack.advance(STEP_MS);
      await settled();
      if (Math.floor(now() / MINUTE_MS) > minute) watch.endMinute(queues.values());
      if (problems.length > 0) throw problems[0];
    }
  };

  return { ...world, watch, pass, now };
};

/** The declared stack, as alarm drills hold it. */
export type MonitoredStack = Awaited<ReturnType<typeof startMonitoredStack>>;
