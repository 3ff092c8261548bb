import middy, { type MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { createDocumentClient } from '../adapters/aws-client.ts';
import { createTokenReader } from '../adapters/tokens/token-reader.ts';
import { type ChangeContext, MAX_AUDIT_TEXT_LENGTH } from '../contracts/audit.ts';
import { type EndpointName, endpoints, isExtension, knownParameters, type Permission } from '../contracts/endpoints.ts';
import { replaceControls } from '../contracts/text.ts';
import { unknownNameErrors } from '../contracts/unknown-names.ts';
import { type Caller, isPermitted } from '../domain/authorization.ts';
import { badRequest, notPermitted, unauthorized, unavailable } from '../domain/errors.ts';
import { parseEnvironment } from '../environment.ts';
import { type Authenticate, cachedAuthentication } from './authentication.ts';
import { errorHandler } from './error-handler.ts';
import { parsePreferences } from './preferences.ts';
import { type ApiRequest, type ParsedRequest, query } from './request.ts';
import { type ApiResponse, withPreferenceApplied } from './response.ts';

type CallerContext = Context & { caller: Caller; appliedPreference?: string | undefined };
type ApiMiddleware = MiddlewareObj<ApiRequest, ApiResponse, Error, CallerContext>;

/** The caller of a request, and the context of what it changes. */
export type RequestCaller = Caller & { readonly context: ChangeContext };

/** If a token cannot be read, the response is 503, never 401 or 403. */
const rethrowAsUnavailable = (cause: unknown): never => {
  throw unavailable(cause);
};

const authentication = (authenticate: Authenticate): ApiMiddleware => ({
  before: async ({ event, context }) => {
    const token = event.headers['x-auth-token'];
    const caller = token === undefined ? undefined : await authenticate(token).catch(rethrowAsUnavailable);
    if (!caller) throw unauthorized();
    context.caller = caller;
  },
});

const authorization = (permission: Permission): ApiMiddleware => ({
  before: ({ context: { caller } }) => {
    if (!isPermitted(caller.role, permission)) throw notPermitted(caller.role, permission);
  },
});

/** Returns a text of the client for an audit entry: bounded, without control characters; undefined if it is empty. */
const auditText = (text: string | null): string | undefined =>
  [...replaceControls(text ?? '')].slice(0, MAX_AUDIT_TEXT_LENGTH).join('') || undefined;

/** Returns the context of what a request changes. */
export const changeContext = (request: ApiRequest, { token: { id, label } }: Caller): ChangeContext => {
  const parameters = query(request);
  const { requestId, http } = request.requestContext;
  return {
    actor: { type: 'token', id, label },
    request_id: requestId,
    ip_address: http.sourceIp,
    who: auditText(parameters.get('_who')),
    why: auditText(parameters.get('_why')),
  };
};

/**
 * Returns the request to parse. That of an extension is always strict, any other one by preference
 * (docs/decisions/api.md#leniency).
 *
 * @throws ServiceError 400 with all unknown query parameters of a strict request
 */
const parsedRequest = (name: EndpointName, request: ApiRequest, context: CallerContext): ParsedRequest => {
  const preferences = parsePreferences(request.headers.prefer);
  const isAsked = preferences.get('handling') === 'strict';
  context.appliedPreference = isAsked ? 'handling=strict' : undefined;
  const isStrict = isAsked || isExtension(name);
  const names = isStrict ? query(request).keys() : [];
  const unknown = unknownNameErrors('query parameter', names, knownParameters(name));
  if (unknown.length > 0) throw badRequest(unknown.join('; '));
  return { ...request, isStrict, preferences };
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
  parse: (request: ParsedRequest) => Input,
  act: (input: Input, caller: RequestCaller, timeLeft: () => number) => Promise<ApiResponse>,
) =>
  middy<ApiRequest, ApiResponse, Error, CallerContext>()
    .use(errorHandler())
    .use(authentication(authenticate))
    .use(authorization(endpoints[name].permission))
    .handler(async (request, context) => {
      const { caller } = context;
      const input = parse(parsedRequest(name, request, context));
      const requestCaller = { ...caller, context: changeContext(request, caller) };
      const response = await act(input, requestCaller, () => context.getRemainingTimeInMillis());
      return withPreferenceApplied(response, context.appliedPreference);
    });

/**
 * Returns what the function of an operation needs: its parsed environment, a DynamoDB client, and `endpoint` with its
 * name and authentication.
 *
 * @param cachesTokens false for a function that changes tokens, which reads the token for each request
 */
export const apiFunction = <Name extends EndpointName>(name: Name, { cachesTokens = true } = {}) => {
  const client = createDocumentClient();
  // This function has only the variables of authentication, which all others have, too.
  const { TOKENS_TABLE, TOKEN_CACHE_SECONDS } = parseEnvironment('get-notification-type');
  const authenticate = cachedAuthentication(
    createTokenReader(client, TOKENS_TABLE),
    cachesTokens ? TOKEN_CACHE_SECONDS : 0,
  );
  return {
    environment: parseEnvironment(name),
    client,
    endpoint: <Input>(
      parse: (request: ParsedRequest) => Input,
      act: (input: Input, caller: RequestCaller, timeLeft: () => number) => Promise<ApiResponse>,
    ) => endpoint(name, authenticate, parse, act),
  };
};
