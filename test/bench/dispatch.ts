import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { createDocumentClient } from '../../shared/adapters/aws-client.ts';
import { createDestinationListWriter } from '../../shared/adapters/deliveries/destination-list.ts';
import { createNotificationRepository } from '../../shared/adapters/notifications/notification-repository.ts';
import { createQueues } from '../../shared/adapters/queues.ts';
import { byType, notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { createDispatch } from '../../shared/pipeline/dispatch/dispatch.ts';
import { alarmEvent } from '../support/events.ts';
import { sqsMessage } from '../support/sqs-message.ts';
import { startChild } from './support/child.ts';
import type { Section } from './support/report.ts';

/*
 * Dispatch of events with 10,000 notifications: events of 350 KB including the plan, in as many passes as they need.
 * AWS is a stub in its own process.
 */

const NOTIFICATIONS = 10_000;
const EVENT_BYTES = 350 * 1024;

const plan = Array.from(
  { length: NOTIFICATIONS },
  (_, index) => `nt01M7W36KGQDJ8S2D76FCW${String(index).padStart(5, '0')}`,
);

const eventBody = (number: number): string => {
  const eventWith = (text: string) =>
    JSON.stringify(
      alarmEvent({ event_id: `e${number}`, check: { id: 'ch', text }, notification_plan: { critical_state: plan } }),
    );
  return eventWith('x'.repeat(EVENT_BYTES - Buffer.byteLength(eventWith(''))));
};

const messageOf = (body: string, index: number): SQSRecord =>
  sqsMessage({
    messageId: `m${index}`,
    body,
    attributes: { ...sqsMessage().attributes, SentTimestamp: String(Date.now()) },
  });

type Measurement = { passes: number; longestPassSeconds: number; seconds: number; cpuSeconds: number; peakMb: number };

/** Dispatches one batch of events, and then the messages that continue it, batch after batch. */
const measure = async (events: number): Promise<Measurement> => {
  const aws = await startChild('./aws-stub.ts', { destination: 'http://127.0.0.1/' });
  const connection = { endpoint: aws.url, region: 'local-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: aws.url,
    AWS_REGION: 'local-1',
    AWS_ACCESS_KEY_ID: 'a',
    AWS_SECRET_ACCESS_KEY: 'b',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
  });
  const url = `${aws.url}/queue`;
  let continued: string[] = [];
  const queues = createQueues(new SQSClient(connection));
  const client = createDocumentClient();
  const dispatch = createDispatch(
    createNotificationRepository(client, 'Notifications'),
    {
      ...queues,
      sendDelayed: async (_url, { body }) => {
        continued.push(body);
      },
    },
    createDestinationListWriter(client, 'Deliveries'),
    { isDue: () => false, escalate: async () => undefined },
    {
      ALARM_EVENTS_QUEUE: url,
      DEAD_LETTER_QUEUE: url,
      SENDER_QUEUES: byType(() => url),
    },
  );
  let bodies = Array.from({ length: events }, (_, index) => eventBody(index));
  const measured: Measurement = { passes: 0, longestPassSeconds: 0, seconds: 0, cpuSeconds: 0, peakMb: 0 };
  const write = process.stdout.write;
  const sampling = setInterval(() => {
    measured.peakMb = Math.max(measured.peakMb, process.memoryUsage.rss() / 2 ** 20);
  }, 50);
  const before = process.cpuUsage();
  while (bodies.length > 0) {
    const startMs = performance.now();
    process.stdout.write = () => true;
    const { batchItemFailures } = await dispatch({ Records: bodies.map(messageOf) });
    process.stdout.write = write;
    if (batchItemFailures.length > 0) throw new Error('An event was not dispatched.');
    const passSeconds = (performance.now() - startMs) / 1_000;
    measured.passes++;
    measured.seconds += passSeconds;
    measured.longestPassSeconds = Math.max(measured.longestPassSeconds, passSeconds);
    bodies = continued;
    continued = [];
  }
  clearInterval(sampling);
  const { user, system } = process.cpuUsage(before);
  measured.cpuSeconds = (user + system) / 1e6;
  const { SendMessageBatch = 0 } = await aws.counts();
  aws.stop();
  if (SendMessageBatch * 10 < events * NOTIFICATIONS) throw new Error('Not every delivery was sent.');
  return measured;
};

export const benchDispatch = async (): Promise<Section[]> => {
  const rows: string[][] = [];
  for (const events of [1, 10]) {
    const { passes, longestPassSeconds, seconds, cpuSeconds, peakMb } = await measure(events);
    rows.push([
      `${events} per batch`,
      String(passes),
      longestPassSeconds.toFixed(1),
      seconds.toFixed(1),
      cpuSeconds.toFixed(1),
      peakMb.toFixed(0),
    ]);
  }
  return [
    {
      title: `Events of 350 KB for ${NOTIFICATIONS} notifications of ${notificationTypeIds.length} types`,
      columns: ['events', 'passes', 'longest pass, s', 'all passes, s', 'CPU s', 'peak MB'],
      rows,
    },
  ];
};
