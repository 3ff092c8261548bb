// The simulation has no schedules.
import { expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { useFaultyStack } from './support.ts';

const harness = useFaultyStack({ heartbeatUrl: 'http://127.0.0.1:9/' });

it('the calls of all schedules succeed', async () => {
  const { plan, endpoint, advance } = harness.stack;
  const callers = plan.schedules
    .filter(({ isEnabled }) => isEnabled)
    .map(({ role, service, action }) => `${role}:scheduler ${service}.${action}`);
  expect(callers.toSorted()).toEqual([
    'Delivery-Heartbeat:scheduler sqs.SendMessage',
    'Monitoring-CrashedQueueActive:scheduler sqs.TagQueue',
    'Monitoring-FailedReportsActive:scheduler sqs.TagQueue',
  ]);
  await advance(Math.max(...plan.schedules.map(({ periodMs }) => periodMs)));
  // Each starts with a call at once, which has ended when the next one is made.
  await until(() => callers.every((caller) => (endpoint.calls.get(caller) ?? 0) >= 2));
  expect(harness.lines.filter((line) => line.includes('A schedule failed'))).toEqual([]);
});
