import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE_MS } from 'local-aws/cloudwatch/metric-store.ts';
import type { LocalStack, LocalStackOptions } from '../../bin/local/stack.ts';
import { readMonitoring } from '../cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../cloudwatch/cloudwatch.ts';
import { sharedAssembly } from '../support/shared-assembly.ts';
import { startFaultyStack } from './support.ts';

/** The default interval between calls of the traffic. */
const STEP_MS = 30_000;

/** How long the stack must be idle, in real time, before its clock advances. */
const IDLE_MS = 4;

/** The requests of a drill, called at each step with the seconds since the start. */
export type Traffic = (seconds: number) => Promise<unknown> | unknown;

/** Starts a local stack with CloudWatch, which collects its metrics and evaluates the alarms of its template. */
export const startMonitoredStack = async (settings: Record<string, string> = {}) => {
  let cloudWatch: CloudWatch | undefined;
  let stack: LocalStack | undefined;
  const now = () => stack?.clock.now() ?? Date.now();
  const errors: unknown[] = [];
  const options: LocalStackOptions = {
    synthesize(allSettings) {
      const assembly = sharedAssembly(allSettings);
      cloudWatch = new CloudWatch({ plan: readMonitoring(assembly.template), now });
      return assembly;
    },
    rawLog(line, functionName) {
      try {
        cloudWatch?.log(line, functionName);
      } catch (error) {
        errors.push(error);
      }
    },
    onInvocation: (report) => cloudWatch?.invocation(report),
    onRequest: (report) => cloudWatch?.request(report),
  };
  const harness = await startFaultyStack({ retryDelayScale: '1', ...settings }, options);
  stack = harness.stack;
  if (!cloudWatch) throw new Error('The stack did not synthesize its template.');
  const watch: CloudWatch = cloudWatch;
  const { queues, lambda } = harness.stack;

  const isIdle = () =>
    lambda.busy() === 0 &&
    [...queues.values()].every(({ counts, pendingReceives }) => pendingReceives === 0 || counts.visible === 0);

  /** Resolves when no function is running and no message is visible, for `IDLE_MS`. */
  const idle = async (): Promise<void> => {
    for (let idleSince = performance.now(); performance.now() - idleSince < IDLE_MS; ) {
      await sleep(1);
      if (!isIdle()) idleSince = performance.now();
    }
  };

  let evaluatedMinute = Math.floor(now() / MINUTE_MS);

  /**
   * Advances the clock with traffic at each step. Evaluates the alarms at the end of each minute. Steps end at whole
   * multiples of `stepMs`: if the real time that a step takes added up, a minute would pass without a step, and a
   * failure that continues would have no data points in it.
   */
  const advanceMinutes = async (
    minutes: number,
    traffic: Traffic = () => undefined,
    stepMs = STEP_MS,
  ): Promise<void> => {
    for (let passedMs = 0; passedMs < minutes * MINUTE_MS; passedMs += stepMs) {
      await traffic(passedMs / 1000);
      await idle();
      await harness.stack.advance(stepMs - (now() % stepMs));
      await idle();
      const minute = Math.floor(now() / MINUTE_MS);
      if (minute > evaluatedMinute) watch.endMinute(queues.values());
      evaluatedMinute = minute;
      if (errors.length > 0) throw errors[0];
    }
  };

  return { ...harness, watch, advanceMinutes, now };
};

export type MonitoredStack = Awaited<ReturnType<typeof startMonitoredStack>>;
