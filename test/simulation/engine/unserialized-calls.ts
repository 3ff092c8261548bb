import { Command } from '@smithy/core/client';
import { HttpRequest, type HttpResponse } from '@smithy/core/protocols';
import { getRetryPlugin } from '@smithy/core/retry';
import type {
  $ClientProtocol,
  DeserializeMiddleware,
  MetadataBearer,
  SerdeFunctions,
  SerializeMiddleware,
} from '@smithy/types';
import { contexts } from './context.ts';
import { seededRandom } from './random.ts';
import { responseOf, SimulatedHttpHandler } from './sdk-transport.ts';

/*
 * Calls of services with a JSON protocol without its serialization, which takes a third of the time of a run: the input
 * goes to the service, and the output comes back, as their JSON would be parsed. What decides about the behavior stays
 * that of the SDK: the document client, retries, timeouts, and the exceptions of error responses, which are read from
 * their bytes.
 */

const SERVICES: Readonly<Record<string, string>> = { DynamoDBClient: 'dynamodb', SQSClient: 'sqs' };

type ClientConfig = Parameters<typeof getRetryPlugin>[0] &
  SerdeFunctions & { protocol: $ClientProtocol<HttpRequest, HttpResponse>; requestHandler: SimulatedHttpHandler };

const isClientConfig = (config: object): config is ClientConfig =>
  'protocol' in config && 'requestHandler' in config && config.requestHandler instanceof SimulatedHttpHandler;

/** Returns a copy as JSON has it: without undefined members, and with binary values in Base64. */
const encode = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(encode);
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : encodeMembers(value);
};

const encodeMembers = (value: object): Record<string, unknown> => {
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) if (member !== undefined) copy[name] = encode(member);
  return copy;
};

/** Returns a copy of what JSON has, with the binary values of DynamoDB. */
const decode = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? value.map(decode) : decodeMembers(value);
};

const decodeMembers = (value: object): Record<string, unknown> => {
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    copy[name] =
      name === 'B' && typeof member === 'string' ? new Uint8Array(Buffer.from(member, 'base64')) : decode(member);
  }
  return copy;
};

const resolveSerialized = Command.prototype.resolveMiddlewareWithContext;

type Resolve = typeof resolveSerialized;
type AnyCommand = Command<object, MetadataBearer, object>;

/** Resolves a command to a call that is not serialized, if its service has a JSON protocol. */
const resolveUnserialized = (
  { schema, middlewareStack }: AnyCommand,
  [, configuration, options, { clientName, commandName, additionalContext }]: Parameters<Resolve>,
): ReturnType<Resolve> | undefined => {
  const service = SERVICES[clientName];
  if (service === undefined || !Array.isArray(schema) || !isClientConfig(configuration)) return undefined;
  const { protocol, requestHandler } = configuration;
  const action = commandName.replace(/Command$/, '');
  const [, namespace, name, traits, input, output] = schema;
  // The retries of the SDK mark requests of HTTP, which takes random numbers.
  const serialize: SerializeMiddleware<object, MetadataBearer> = (next) => (args) =>
    next({ ...args, request: new HttpRequest({}) });
  const call: DeserializeMiddleware<object, MetadataBearer> = (_, context) => async (args) => {
    const reply = await requestHandler.call({ service, action, input: encodeMembers(args.input) }, options);
    if (reply.output)
      return {
        response: reply,
        output: { ...decodeMembers(reply.output), $metadata: { httpStatusCode: reply.status } },
      };
    protocol.setSerdeContext(configuration);
    const response = responseOf(reply);
    const operation = { namespace, name, traits, input, output };
    return {
      response,
      output: await protocol.deserializeResponse(operation, { ...configuration, ...context }, response),
    };
  };
  middlewareStack.add(serialize, { name: 'serializerMiddleware', step: 'serialize', override: true });
  middlewareStack.use(getRetryPlugin(configuration));
  middlewareStack.add(call, { name: 'deserializerMiddleware', step: 'deserialize', override: true });
  const sendNothing = () => Promise.reject(new Error('This is no request of HTTP.'));
  return middlewareStack.resolve(sendNothing, { clientName, commandName, ...additionalContext });
};

let sent = 0;

/**
 * Replaces how the SDK runs commands in a simulation. Whether they are serialized makes no difference for a run: the SDK
 * has random numbers of its own for each call, and requests and responses wait for their turns, so that it is irrelevant
 * how many promises it needs.
 */
export const replaceCommands = (): void => {
  Command.prototype.resolveMiddlewareWithContext = function (stack, configuration, options, details) {
    const context = contexts.getStore();
    if (!context) return resolveSerialized.call(this, stack, configuration, options, details);
    const order = sent++;
    const parameters: Parameters<Resolve> = [stack, configuration, { ...options, order }, details];
    const handler =
      (context.isSerialized ? undefined : resolveUnserialized(this, parameters)) ??
      resolveSerialized.apply(this, parameters);
    const ofSdk = { ...context, random: seededRandom(context.random() * 2 ** 32) };
    return (args) => contexts.run(ofSdk, () => handler(args)).finally(() => context.turn(order));
  };
};
