import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { startSink } from '../support/sink.ts';
import { useStarted } from '../support/use-started.ts';
import { useStackWithCommandLine } from './command-line.ts';

/** The output of `event send --json`. */
export const sent = z.object({ message_id: z.string(), event_id: z.string(), notifications: z.array(z.string()) });

/** The output of `deliveries --json`. */
export const deliveries = z.array(
  z.looseObject({
    notification_id: z.string(),
    event_id: z.string(),
    alarm_id: z.string(),
    state: z.string(),
    status: z.string(),
    attempts: z.array(z.looseObject({ result: z.string(), status_code: z.number().nullable() })),
    conflict_at: z.number().nullable(),
  }),
);

/** Runs a local stack and the command line, with a receiver of webhooks, for tests that send events to the tenant acme. */
export const useAlerts = (settings: Readonly<Record<string, string>> = {}) => {
  // A heartbeat is an event that no command should count.
  const { stack, ops, runJson } = useStackWithCommandLine({ heartbeatUrl: 'http://127.0.0.1:9/', ...settings });
  /** Responds with the status in the path until `isFixed` is set. */
  const receiver = { isFixed: false };
  const sink = useStarted(
    () =>
      startSink((response, { path }) => {
        response.writeHead(receiver.isFixed ? 204 : Number(path.slice(1))).end('secret response');
      }),
    ({ close }) => close(),
  );

  const create = async (label: string, type: string, details: Record<string, string>): Promise<string> => {
    const response = await fetch(`${stack.base_url}/notifications`, {
      method: 'POST',
      headers: { 'x-auth-token': stack.tokens.admin },
      body: JSON.stringify({ label, type, details }),
    });
    return response.headers.get('location')?.split('/').at(-1) ?? '';
  };

  const sendExample = async (...ids: string[]): Promise<string> => {
    const { out } = await ops(['event', 'example', '--notification', ...ids]);
    return (await runJson(sent, 'event send -', out)).event_id;
  };

  /** Sends a message that `event send` would refuse, by default to the queue of alarm events. @returns its ID */
  const sendRaw = async (MessageBody: string, queue = 'Delivery-AlarmEvents'): Promise<string> => {
    const sqs = new SQSClient({
      endpoint: stack.aws_endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local-test', secretAccessKey: 'local' },
    });
    const QueueUrl = stack.alarm_queue_url.replace('Delivery-AlarmEvents', queue);
    const { MessageId = '' } = await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));
    sqs.destroy();
    return MessageId;
  };

  const deliveriesTo = (notificationId: string) =>
    runJson(deliveries, `deliveries --tenant acme --notification ${notificationId}`);

  return { stack, ops, runJson, receiver, sink, create, sendExample, sendRaw, deliveriesTo };
};
