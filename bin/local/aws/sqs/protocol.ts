import type { z } from 'zod';
import { type AwsCall, type AwsService, jsonFault } from '../aws-service.ts';
import type { Clock } from '../clock.ts';
import { checkBatch, eachEntry } from './batch.ts';
import { invalidValue, SqsError } from './errors.ts';
import { maximumMessageBytes } from './message.ts';
import { MoveTasks, maximumMovesPerSecond } from './move-task.ts';
import type { Queue } from './queue.ts';
import { receivedMessage } from './receiving.ts';
import { queueAttributes, taskReport } from './reports.ts';
import { outgoingBytes, sendOne } from './sending.ts';
import { requests, visibilitySeconds } from './shapes.ts';

type Action = (call: AwsCall) => object | Promise<object>;

/** Amazon SQS over its JSON protocol (`x-amz-target: AmazonSQS.<Action>`), for the queues of the stack. */
export function sqsService(queues: readonly Queue[], clock: Clock): AwsService {
  const moves = new MoveTasks(clock, (arn) => queues.find((queue) => queue.settings.arn === arn));

  const named = (name: string): Queue => {
    const queue = queues.find((candidate) => candidate.settings.name === name);
    if (!queue) throw new SqsError('QueueDoesNotExist', 'The specified queue does not exist.');
    return queue;
  };
  const at = (request: { QueueUrl: string }): Queue => named(request.QueueUrl.split('/').at(-1) ?? '');
  const withArn = (parameter: 'SourceArn' | 'DestinationArn', arn: string): Queue => {
    const queue = queues.find((candidate) => candidate.settings.arn === arn);
    if (!queue) {
      const message = `The resource that you specified for the ${parameter} parameter doesn't exist.`;
      throw new SqsError('ResourceNotFoundException', message);
    }
    return queue;
  };
  const feeding = (target: Queue): Queue[] => queues.filter((queue) => queue.redrive?.target === target);

  const actions: Record<string, Action> = {
    SendMessage: action(requests.SendMessage, (request, { caller }) => sendOne(at(request), request, caller)),

    SendMessageBatch: action(requests.SendMessageBatch, (request, { caller }) => {
      checkBatch(request.Entries);
      const total = request.Entries.reduce((bytes, entry) => bytes + outgoingBytes(entry), 0);
      if (total > maximumMessageBytes) {
        throw new SqsError('BatchRequestTooLong', `Batch requests cannot be longer than ${maximumMessageBytes} bytes.`);
      }
      return eachEntry(request.Entries, (entry) => sendOne(at(request), entry, caller));
    }),

    ReceiveMessage: action(requests.ReceiveMessage, async (request, { signal }) => {
      const receipts = await at(request).receive({
        maximum: request.MaxNumberOfMessages,
        visibilitySeconds: request.VisibilityTimeout,
        waitSeconds: request.WaitTimeSeconds,
        signal,
      });
      return receipts.length === 0 ? {} : { Messages: receipts.map((receipt) => receivedMessage(receipt, request)) };
    }),

    DeleteMessage: action(requests.DeleteMessage, (request) => {
      at(request).delete(request.ReceiptHandle);
      return {};
    }),

    DeleteMessageBatch: action(requests.DeleteMessageBatch, (request) => {
      checkBatch(request.Entries);
      return eachEntry(request.Entries, (entry) => {
        at(request).delete(entry.ReceiptHandle);
        return {};
      });
    }),

    ChangeMessageVisibility: action(requests.ChangeMessageVisibility, (request) => {
      at(request).changeVisibility(request.ReceiptHandle, request.VisibilityTimeout);
      return {};
    }),

    ChangeMessageVisibilityBatch: action(requests.ChangeMessageVisibilityBatch, (request) => {
      checkBatch(request.Entries);
      return eachEntry(request.Entries, (entry) => {
        if (!visibilitySeconds.safeParse(entry.VisibilityTimeout).success) {
          throw invalidValue('VisibilityTimeout', 'Must be between 0 and 43200.');
        }
        at(request).changeVisibility(entry.ReceiptHandle, entry.VisibilityTimeout);
        return {};
      });
    }),

    GetQueueAttributes: action(requests.GetQueueAttributes, (request) => {
      const wanted = request.AttributeNames;
      const all = Object.entries(queueAttributes(at(request)));
      return {
        Attributes: Object.fromEntries(all.filter(([name]) => wanted.includes('All') || wanted.includes(name))),
      };
    }),

    GetQueueUrl: action(requests.GetQueueUrl, ({ QueueName }) => ({ QueueUrl: named(QueueName).settings.url })),

    ListQueues: action(requests.ListQueues, ({ QueueNamePrefix }) => ({
      QueueUrls: queues
        .map(({ settings }) => settings)
        .filter(({ name }) => name.startsWith(QueueNamePrefix))
        .map(({ url }) => url),
    })),

    PurgeQueue: action(requests.PurgeQueue, (request) => {
      at(request).purge();
      return {};
    }),

    ListDeadLetterSourceQueues: action(requests.ListDeadLetterSourceQueues, (request) => ({
      queueUrls: feeding(at(request)).map(({ settings }) => settings.url),
    })),

    StartMessageMoveTask: action(requests.StartMessageMoveTask, (request) => {
      const source = withArn('SourceArn', request.SourceArn);
      if (feeding(source).length === 0) {
        const message = 'Source queue must be configured as a Dead Letter Queue.';
        throw new SqsError('InvalidParameterValueException', message);
      }
      const { DestinationArn } = request;
      const destination = DestinationArn === undefined ? undefined : withArn('DestinationArn', DestinationArn);
      if (destination === source) {
        const message = 'Source queue arn and destination queue arn cannot be the same.';
        throw new SqsError('InvalidParameterValueException', message);
      }
      const task = moves.start(source, destination, request.MaxNumberOfMessagesPerSecond ?? maximumMovesPerSecond);
      return { TaskHandle: task.handle };
    }),

    ListMessageMoveTasks: action(requests.ListMessageMoveTasks, (request) => {
      const source = withArn('SourceArn', request.SourceArn);
      const tasks = moves.tasks.filter((task) => task.source === source).slice(0, request.MaxResults);
      return { Results: tasks.map(taskReport) };
    }),

    CancelMessageMoveTask: action(requests.CancelMessageMoveTask, ({ TaskHandle }) => ({
      ApproximateNumberOfMessagesMoved: moves.cancel(TaskHandle).moved,
    })),
  };

  return async (call) => {
    try {
      const run = Object.hasOwn(actions, call.action) ? actions[call.action] : undefined;
      if (!run) throw new SqsError('UnsupportedOperation', `The local SQS has no action ${call.action}.`);
      const headers = { 'content-type': 'application/x-amz-json-1.0' };
      return { status: 200, headers, body: JSON.stringify(await run(call)) };
    } catch (error) {
      if (error instanceof SqsError) return sqsFault(error);
      throw error;
    }
  };
}

function sqsFault(error: SqsError) {
  const headers = { 'x-amzn-query-error': `${error.queryCode};Sender` };
  return jsonFault({ status: 400, type: `com.amazonaws.sqs#${error.code}`, message: error.message, headers });
}

function action<Schema extends z.ZodType>(
  schema: Schema,
  run: (request: z.infer<Schema>, call: AwsCall) => object | Promise<object>,
): Action {
  return (call) => run(parse(schema, call.body), call);
}

function parse<Schema extends z.ZodType>(schema: Schema, body: Buffer): z.infer<Schema> {
  const result = schema.safeParse(json(body));
  if (result.success) return result.data;
  const [{ path, message } = { path: [], message: '' }] = result.error.issues;
  const parameter = path.join('.');
  if (message.endsWith('received undefined')) {
    throw new SqsError('MissingRequiredParameterException', `The request must contain the parameter ${parameter}.`);
  }
  throw invalidValue(parameter, message);
}

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    throw invalidValue('body', 'It is not JSON.');
  }
}
