import type { AwsCall, AwsFault, AwsService } from 'local-aws/aws-service.ts';
import { jsonFault, xmlFault } from 'local-aws/aws-service.ts';
import { calledOperation } from 'local-aws/called-operation.ts';
import type { AwsReply, AwsRequest } from './context.ts';
import type { ExecutionEnvironment } from './execution-environment.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * What happens to a call: an error instead of the call, a kill of the caller before or after the call, a lost response, or
 * delays. `beforeMs` passes before the call is applied, `afterMs` before its response arrives.
 */
export type CallFate = {
  beforeMs: number;
  afterMs: number;
  fault?: AwsFault;
  kill?: 'before' | 'after';
  isLost?: boolean;
};

export type SimulatedAwsOptions = {
  time: VirtualTime;
  services: ReadonlyMap<string, AwsService>;
  /** Decides what happens to a call of an execution environment. The message of an email must be parsed for that. */
  fateOf: (call: AwsCall, environment: ExecutionEnvironment) => CallFate | Promise<CallFate>;
  kill: (environment: ExecutionEnvironment) => void;
  trace: (line: string) => void;
};

const neverAborted = new AbortController().signal;

/** Returns the call of a request of the SDK. `caller` is its access key. */
export const callOf = (request: AwsRequest, caller: string): AwsCall => {
  if ('input' in request) {
    return {
      ...request,
      caller,
      path: '/',
      headers: {},
      get body() {
        return Buffer.from(JSON.stringify(request.input));
      },
      signal: neverAborted,
    };
  }
  const { path, headers, body } = request;
  const { service = '', action } = calledOperation(headers['x-amz-target'], path, body);
  return { service, action, caller, path, headers: { ...headers }, body, signal: neverAborted };
};

/** Creates AWS as the SDK in execution environments calls it. */
export const createSimulatedAws =
  ({ time, services, fateOf, kill, trace }: SimulatedAwsOptions) =>
  (environment: ExecutionEnvironment, request: AwsRequest): Promise<AwsReply> => {
    const call = callOf(request, environment.id);
    const name = `${environment.id} ${call.service}.${call.action}`;
    const { promise, resolve } = Promise.withResolvers<AwsReply>();
    const meet = (fate: CallFate): void => {
      const reply = (response: AwsReply): void => {
        trace(`${name} ${response.status}${fate.isLost ? ' (lost)' : ''}`);
        if (fate.kill === 'after') kill(environment);
        else if (!fate.isLost) time.after(fate.afterMs, () => resolve(response));
      };
      const apply = async (): Promise<void> => {
        if (fate.kill === 'before') return kill(environment);
        const service = services.get(call.service);
        if (!service) throw new Error(`There is no service for ${call.service}.${call.action} ${call.path}.`);
        const usesXml = call.service === 'sns' || call.service === 'ses';
        const { fault } = fate;
        if (fault) return reply(usesXml ? xmlFault(fault) : jsonFault(fault));
        reply(await service(call));
      };
      time.after(fate.beforeMs, () => void apply());
    };
    const fate = fateOf(call, environment);
    if (fate instanceof Promise) void fate.then(meet);
    else meet(fate);
    return promise;
  };
