import type { z } from 'zod';
import { type AwsCall, type AwsResponse, type AwsService, jsonFault, jsonResult } from '../aws-service.ts';
import { queueAttributes, receivedMessage, requested } from './attributes.ts';
import { SqsError } from './errors.ts';
import type { Queue } from './queue.ts';
import { bodyDigest, MAX_MESSAGE_BYTES } from './queued-message.ts';
import {
  assertValidBatch,
  assertValidVisibility,
  type OutgoingMessage,
  outgoingBytes,
  parseJson,
  parseRequest,
  readMessage,
  requests,
} from './requests.ts';

type Action = (call: AwsCall) => object | Promise<object>;

/** Creates Amazon SQS with its JSON protocol (`x-amz-target: AmazonSQS.<Action>`) for the given queues. */
export const sqsService = (queues: readonly Queue[]): AwsService => {
  const queueOf = ({ QueueUrl }: { QueueUrl: string }): Queue => {
    const queue = queues.find(({ settings }) => settings.name === QueueUrl.split('/').at(-1));
    if (!queue) throw new SqsError('QueueDoesNotExist', 'The specified queue does not exist.');
    return queue;
  };

  const actions: Record<string, Action> = {
    SendMessage: action(requests.SendMessage, (request, { caller }) => sendMessage(queueOf(request), request, caller)),

    SendMessageBatch: action(requests.SendMessageBatch, (request, { caller }) => {
      assertValidBatch(request.Entries);
      const total = request.Entries.reduce((bytes, entry) => bytes + outgoingBytes(entry), 0);
      if (total > MAX_MESSAGE_BYTES) {
        throw new SqsError('BatchRequestTooLong', `Batch requests cannot be longer than ${MAX_MESSAGE_BYTES} bytes.`);
      }
      return runEntries(request.Entries, (entry) => sendMessage(queueOf(request), entry, caller));
    }),

    ReceiveMessage: action(requests.ReceiveMessage, async (request, { signal }) => {
      const receipts = await queueOf(request).receive({
        maxMessages: request.MaxNumberOfMessages,
        visibilitySeconds: request.VisibilityTimeout,
        waitSeconds: request.WaitTimeSeconds,
        signal,
      });
      return receipts.length === 0 ? {} : { Messages: receipts.map((receipt) => receivedMessage(receipt, request)) };
    }),

    DeleteMessage: action(requests.DeleteMessage, (request) => {
      queueOf(request).delete(request.ReceiptHandle);
      return {};
    }),

    DeleteMessageBatch: action(requests.DeleteMessageBatch, (request) => {
      assertValidBatch(request.Entries);
      return runEntries(request.Entries, (entry) => {
        queueOf(request).delete(entry.ReceiptHandle);
        return {};
      });
    }),

    ChangeMessageVisibility: action(requests.ChangeMessageVisibility, (request) => {
      queueOf(request).changeVisibility(request.ReceiptHandle, request.VisibilityTimeout);
      return {};
    }),

    ChangeMessageVisibilityBatch: action(requests.ChangeMessageVisibilityBatch, (request) => {
      assertValidBatch(request.Entries);
      return runEntries(request.Entries, (entry) => {
        assertValidVisibility(entry.VisibilityTimeout);
        queueOf(request).changeVisibility(entry.ReceiptHandle, entry.VisibilityTimeout);
        return {};
      });
    }),

    GetQueueAttributes: action(requests.GetQueueAttributes, (request) => {
      const attributes = Object.entries(queueAttributes(queueOf(request)));
      return { Attributes: Object.fromEntries(requested(attributes, request.AttributeNames)) };
    }),

    ListQueues: action(requests.ListQueues, () => ({ QueueUrls: queues.map(({ settings }) => settings.url) })),

    PurgeQueue: action(requests.PurgeQueue, (request) => {
      queueOf(request).purge();
      return {};
    }),

    // Nothing here reads tags.
    TagQueue: action(requests.TagQueue, (request) => {
      queueOf(request);
      return {};
    }),
  };

  return async (call) => {
    try {
      const run = Object.hasOwn(actions, call.action) ? actions[call.action] : undefined;
      if (!run) throw new SqsError('UnsupportedOperation', `The local SQS does not support the action ${call.action}.`);
      return jsonResult(await run(call));
    } catch (error) {
      if (error instanceof SqsError) return errorResponse(error);
      throw error;
    }
  };
};

const errorResponse = (error: SqsError): AwsResponse => {
  const headers = { 'x-amzn-query-error': `${error.queryCode};Sender` };
  return jsonFault({ status: 400, type: `com.amazonaws.sqs#${error.code}`, message: error.message, headers });
};

const action =
  <Schema extends z.ZodType>(
    schema: Schema,
    run: (request: z.infer<Schema>, call: AwsCall) => object | Promise<object>,
  ): Action =>
  (call) =>
    run(parseRequest(schema, call.input ?? parseJson(call.body)), call);

const sendMessage = (queue: Queue, outgoing: OutgoingMessage, senderId: string): object => {
  const message = readMessage(outgoing, senderId);
  return { MessageId: queue.send(message, outgoing.DelaySeconds), MD5OfMessageBody: bodyDigest(message.body) };
};

/** Runs a batch. An `SqsError` of an entry fails that entry only. */
const runEntries = <Entry extends { Id: string }>(entries: readonly Entry[], run: (entry: Entry) => object): object => {
  const Successful: object[] = [];
  const Failed: object[] = [];
  for (const entry of entries) {
    try {
      Successful.push({ Id: entry.Id, ...run(entry) });
    } catch (error) {
      if (!(error instanceof SqsError) || error.code === 'QueueDoesNotExist') throw error;
      Failed.push({ Id: entry.Id, SenderFault: true, Code: error.queryCode, Message: error.message });
    }
  }
  return { Successful, ...(Failed.length > 0 ? { Failed } : {}) };
};
