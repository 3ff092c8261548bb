import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, it, vi } from 'vitest';
import { createDeliveryRepository } from '../../../shared/adapters/delivery-repository.ts';
import { createDocumentClient } from '../../../shared/adapters/document-client.ts';
import { createQueues } from '../../../shared/adapters/queues.ts';
import { attemptInTurn } from '../../../shared/adapters/sender/incident-turn.ts';
import { alarmEvent } from '../../support/events.ts';
import { queueRecord } from '../../support/queue-record.ts';

const address = (name: string) => `https://sqs.example.com/1/${name}`;
const queueUrls = {
  email: address('email'),
  technicalContactsEmail: address('technicalContactsEmail'),
  webhook: address('webhook'),
  sms: address('sms'),
  incidentpager: address('incidentpager'),
  incidentrouter: address('incidentrouter'),
  atomfeed: address('atomfeed'),
  managed: address('managed'),
};

it.each(['incidentpager', 'incidentpager-Retries'])(
  'a message for which no time is left is sent anew to %s, from where it came: put back, it would soon count as a crash',
  async (name) => {
    const credentials = { accessKeyId: 'none', secretAccessKey: 'none' };
    const sqs = new SQSClient({ region: 'local-1', credentials });
    const asked = vi.fn();
    sqs.middlewareStack.add(
      () => async (args) => {
        asked(args.input);
        return { response: {}, output: { $metadata: {} } };
      },
      { step: 'initialize', priority: 'high' },
    );
    const deliver = vi.fn();
    const work = {
      tools: {
        type: 'incidentpager',
        deliver,
        deliveries: createDeliveryRepository(createDocumentClient(), 'deliveries'),
        queues: createQueues(sqs),
        queueUrls,
        retryUrl: address('incidentpager-Retries'),
        deadLetterUrl: address('incidentpager-DeadLetters'),
        retryScale: 1,
        deadLetterMail: false,
        clock: Date.now,
      },
      record: queueRecord({ body: 'text', eventSourceARN: `arn:aws:sqs:local-1:1:${name}` }),
      body: { notification_id: 'ntA', event: alarmEvent() },
      id: 'd1',
      timeLeft: () => 16_999,
    } as const;
    expect(await attemptInTurn(work, undefined)).toEqual({ verdict: 'busy' });
    expect(asked).toHaveBeenCalledExactlyOnceWith({
      QueueUrl: address(name),
      MessageBody: 'text',
      MessageGroupId: 'acme',
      DelaySeconds: 2,
    });
    expect(deliver).not.toHaveBeenCalled();
  },
);
