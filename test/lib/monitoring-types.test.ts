import { Template } from 'aws-cdk-lib/assertions';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { Api } from '../../lib/api.ts';
import { Delivery } from '../../lib/delivery.ts';
import { EmailEvents } from '../../lib/email-events.ts';
import type { MonitoredSender } from '../../lib/monitoring/monitored-resources.ts';
import { Monitoring } from '../../lib/monitoring.ts';
import { SenderQueue } from '../../lib/sender-queue.ts';
import { parseSettings } from '../../lib/settings.ts';
import { createTopicKey } from '../../lib/topic-key.ts';
import { propertiesOf, unfinishedStack } from '../support/stack.ts';

const TYPES = 20;

const alarmSchema = z.object({
  Metrics: z.array(z.object({ Id: z.string(), MetricStat: z.unknown().optional() })).default([]),
});

/** Returns the alarms of a stack with made-up types in addition to the real ones. */
const alarmsOf20Types = () =>
  unfinishedStack({ developmentStage: true }, (stack) => {
    const [api, delivery, emailEvents] = ['Api', 'Delivery', 'EmailEvents'].map((id) => stack.node.findChild(id));
    if (!(api instanceof Api && delivery instanceof Delivery && emailEvents instanceof EmailEvents))
      throw new Error('The stack has no API, no delivery or no email events.');
    const { alarmEvents, dispatch, crashedQueue, senders } = delivery;
    const madeUp = Array.from({ length: TYPES - senders.length }, (_, index): MonitoredSender => {
      const type = `type${index}`;
      const scope = new Construct(stack, type);
      const lambda = new LambdaFunction(scope, 'Function', {
        runtime: Runtime.NODEJS_24_X,
        handler: 'index.handler',
        code: Code.fromInline('0'),
      });
      return { type, lambda, queue: new SenderQueue(scope, 'Queues', crashedQueue, { retryDelayScale: 1 }) };
    });
    const all = { alarmEvents, dispatch, crashedQueue, senders: [...senders, ...madeUp] };
    const resources = { api, delivery: all, emailEvents, outcomes: undefined };
    new Monitoring(stack, 'Monitoring', parseSettings({}), resources, createTopicKey(stack, 'Key'));
    return propertiesOf(Template.fromStack(stack), 'AWS::CloudWatch::Alarm', alarmSchema);
  });

it('alarms read at most ten metrics, the limit of CloudWatch, and the ages of all queues with 20 types', () => {
  const read = [...alarmsOf20Types()].map(([id, { Metrics }]) => ({
    id,
    metrics: Metrics.filter(({ MetricStat }) => MetricStat !== undefined).map(({ Id }) => Id),
  }));
  for (const { id, metrics } of read) expect(metrics.length, id).toBeLessThanOrEqual(10);
  const ages = read.filter(({ id }) => /^MonitoringQueueAge/.test(id));
  expect(ages.map(({ metrics }) => metrics.length)).toEqual([10, 10, 2]);
  expect(new Set(ages.flatMap(({ metrics }) => metrics)).size).toBe(TYPES + 2);
});
