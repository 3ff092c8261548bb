import type { Context } from 'aws-lambda';
import type { ChangeOrigin } from '../contracts/audit.ts';
import { type EndpointName, endpoints } from '../contracts/endpoints.ts';
import { type Caller, isPermitted } from '../domain/authorization.ts';
import { notPermitted, unauthorized, unavailable } from '../domain/errors.ts';
import type { Authenticate } from './authentication.ts';
import { changeOrigin } from './change-origin.ts';
import { responseToError } from './error-handler.ts';
import type { ApiRequest } from './request.ts';
import type { ApiResponse } from './response.ts';
import { createThrottlingCount } from './throttled-requests.ts';

/** The caller of a request, and the origin of what it changes. */
export type RequestCaller = Caller & { readonly origin: ChangeOrigin };

/** If a token cannot be read, the response is 503, never 401 or 403. */
const rethrowAsUnavailable = (cause: unknown): never => {
  throw unavailable(cause);
};

/**
 * Creates the Lambda handler of an operation. It authenticates (401), authorizes (403), parses (400) and acts, in this
 * order (docs/decisions/api.md#authentication-in-the-function).
 *
 * @param act `timeLeft` returns the milliseconds until the function times out
 */
export const endpoint = <Input>(
  name: EndpointName,
  authenticate: Authenticate,
  parse: (request: ApiRequest) => Input,
  act: (input: Input, caller: RequestCaller, timeLeft: () => number) => Promise<ApiResponse>,
) => {
  const { permission } = endpoints[name];
  const countIfThrottled = createThrottlingCount();

  const callerOf = async ({ headers }: ApiRequest): Promise<Caller> => {
    const token = headers['x-auth-token'];
    const caller = token === undefined ? undefined : await authenticate(token).catch(rethrowAsUnavailable);
    if (!caller) throw unauthorized();
    return caller;
  };

  return async (request: ApiRequest, context: Pick<Context, 'getRemainingTimeInMillis'>): Promise<ApiResponse> => {
    let caller: Caller | undefined;
    try {
      caller = await callerOf(request);
      if (!isPermitted(caller.role, permission)) throw notPermitted(caller.role, permission);
      const requestCaller = { ...caller, origin: changeOrigin(request, caller) };
      return await act(parse(request), requestCaller, () => context.getRemainingTimeInMillis());
    } catch (error) {
      if (caller) countIfThrottled(error, caller);
      return responseToError(error, request);
    }
  };
};
