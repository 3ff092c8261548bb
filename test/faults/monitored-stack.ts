import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { synthesize } from '../../bin/local/assembly.ts';
import { readMonitoring } from '../../bin/local/aws/cloudwatch/alarm-definition.ts';
import { CloudWatch } from '../../bin/local/aws/cloudwatch/cloudwatch.ts';
import { MINUTE_MS } from '../../bin/local/aws/cloudwatch/metric-store.ts';
import type { LocalStack, LocalStackOptions } from '../../bin/local/stack.ts';
import { startFaultyStack } from './support.ts';

/** Traffic flows in steps of this many ms unless told otherwise. */
const STEP_MS = 30_000;

/** How long nothing must happen before time moves on, in ms of real time. */
const QUIET_MS = 4;

/** What a drill does at each step of time, given the seconds that have passed. */
export type Traffic = (seconds: number) => Promise<unknown> | unknown;

/** A change of the template before it is run: the timeout of a function, in seconds. */
export type Timeouts = Readonly<Record<string, number>>;

const synthesized = z.looseObject({
  Resources: z.record(z.string(), z.looseObject({ Properties: z.record(z.string(), z.unknown()).optional() })),
});
const constructPath = z.looseObject({ Metadata: z.looseObject({ 'aws:cdk:path': z.string() }) });

/** The template with shorter timeouts, so that a drill need not wait for the real ones. */
const withTimeouts = (template: unknown, timeouts: Timeouts): unknown => {
  const { Resources, ...rest } = synthesized.parse(template);
  const changed = Object.entries(Resources).map(([id, resource]) => {
    const path = constructPath.safeParse(resource).data?.Metadata['aws:cdk:path'] ?? '';
    const [, Timeout] = Object.entries(timeouts).find(([name]) => path.endsWith(`/${name}/Function/Resource`)) ?? [];
    return [id, Timeout === undefined ? resource : { ...resource, Properties: { ...resource.Properties, Timeout } }];
  });
  return { ...rest, Resources: Object.fromEntries(changed) };
};

/** The declared stack with CloudWatch: its metrics are collected, and the alarms of its own template evaluated over them. */
export const startMonitoredStack = async (settings: Record<string, string> = {}, timeouts: Timeouts = {}) => {
  let cloudWatch: CloudWatch | undefined;
  let stack: LocalStack | undefined;
  const now = () => stack?.clock.now() ?? Date.now();
  const problems: unknown[] = [];
  const options: LocalStackOptions = {
    synthesize(all) {
      const assembly = synthesize(all);
      cloudWatch = new CloudWatch({ plan: readMonitoring(assembly.template), now });
      return { ...assembly, template: withTimeouts(assembly.template, timeouts) };
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
  const world = await startFaultyStack({ retryDelayScale: '1', ...settings }, options);
  stack = world.stack;
  if (!cloudWatch) throw new Error('The stack was started without its template.');
  const watch: CloudWatch = cloudWatch;
  const { queues, lambda } = world.stack;

  const isQuiet = () =>
    lambda.busy() === 0 &&
    [...queues.values()].every(({ counts, pendingReceives }) => pendingReceives === 0 || counts.visible === 0);

  /** Resolves when nobody works and nothing can be received, for a moment. */
  const settled = async (): Promise<void> => {
    for (let quietSince = performance.now(); performance.now() - quietSince < QUIET_MS; ) {
      await sleep(1);
      if (!isQuiet()) quietSince = performance.now();
    }
  };

  let endedMinute = Math.floor(now() / MINUTE_MS);

  /** Lets time pass while traffic flows; the alarms are evaluated at the end of each minute. */
  const pass = async (minutes: number, traffic: Traffic = () => undefined, stepMs = STEP_MS): Promise<void> => {
    for (let passedMs = 0; passedMs < minutes * MINUTE_MS; passedMs += stepMs) {
      await traffic(passedMs / 1000);
      await settled();
      await world.stack.advance(stepMs);
      await settled();
      const minute = Math.floor(now() / MINUTE_MS);
      if (minute > endedMinute) watch.endMinute(queues.values());
      endedMinute = minute;
      if (problems.length > 0) throw problems[0];
    }
  };

  return { ...world, watch, pass, now };
};

/** The declared stack, as alarm drills hold it. */
export type MonitoredStack = Awaited<ReturnType<typeof startMonitoredStack>>;
