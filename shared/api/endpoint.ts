import middy, { type MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { lru } from 'tiny-lru';
import { createAuditLog } from '../adapters/audits/audit-log.ts';
import { createDocumentClient, isDependencyFailure } from '../adapters/aws-client.ts';
import { createThrottlingWatch, UnconfirmedChangeError } from '../adapters/dynamodb/errors.ts';
import { errorTrace, logger } from '../adapters/logger.ts';
import { count } from '../adapters/metrics.ts';
import { createTokenReader, type TokenReader } from '../adapters/tokens/token-reader.ts';
import { type AuditedEndpoint, type ChangeContext, MAX_AUDIT_TEXT_LENGTH } from '../contracts/audit.ts';
import { type EndpointName, endpoints, isExtension, knownParameters, type Permission } from '../contracts/endpoints.ts';
import { errorStatus } from '../contracts/errors.ts';
import { replaceControls } from '../contracts/text.ts';
import { unknownNameErrors } from '../contracts/unknown-names.ts';
import {
  badRequest,
  internalError,
  notPermitted,
  ServiceError,
  unauthorized,
  unavailable,
  unconfirmedChange,
} from '../domain/errors.ts';
import type { Clock } from '../domain/time.ts';
import { type Caller, isPermitted, isWellFormedToken, tokenHash } from '../domain/token.ts';
import { parseEnvironment } from '../environment.ts';
import { type ApiRequest, type ParsedRequest, query } from './request.ts';
import { type ApiResponse, errorResponse, withPreferenceApplied } from './response.ts';

type CallerContext = Context & { caller: Caller; appliedPreference?: string | undefined };
type ApiMiddleware = MiddlewareObj<ApiRequest, ApiResponse, Error, CallerContext>;

export type RequestCaller = Caller & { readonly context: ChangeContext };

/** If a token cannot be read, the response is 503, never 401 or 403. */
const rethrowAsUnavailable = (cause: unknown): never => {
  throw unavailable(cause);
};

const authorization = (authenticate: Authenticate, permission: Permission): ApiMiddleware => ({
  before: async ({ event, context }) => {
    const token = event.headers['x-auth-token'];
    const caller = token === undefined ? undefined : await authenticate(token).catch(rethrowAsUnavailable);
    if (!caller) throw unauthorized();
    context.caller = caller;
    if (!isPermitted(caller.role, permission)) throw notPermitted(caller.role, permission);
  },
});

const auditText = (text: string | null): string | undefined =>
  [...replaceControls(text ?? '')].slice(0, MAX_AUDIT_TEXT_LENGTH).join('') || undefined;

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
 * That of an extension is always strict, any other one by preference (docs/decisions/api.md#leniency).
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

/** `timeLeft` returns the milliseconds until the function times out. */
type Act<Input> = (input: Input, caller: RequestCaller, timeLeft: () => number) => Promise<ApiResponse>;

/**
 * Creates the Lambda handler of an operation. It authenticates (401), authorizes (403), parses (400) and acts, in this
 * order (docs/decisions/api.md#authentication-in-the-function).
 */
export const endpoint = <Input>(
  name: EndpointName,
  authenticate: Authenticate,
  parse: (request: ParsedRequest) => Input,
  act: Act<Input>,
) =>
  middy<ApiRequest, ApiResponse, Error, CallerContext>()
    .use(errorHandler())
    .use(authorization(authenticate, endpoints[name].permission))
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
    endpoint: <Input>(parse: (request: ParsedRequest) => Input, act: Act<Input>) =>
      endpoint(name, authenticate, parse, act),
  };
};

/** The `apiFunction` of an operation that leaves audit entries. */
export const auditedFunction = <Name extends AuditedEndpoint>(name: Name, options?: { cachesTokens: boolean }) => {
  const created = apiFunction(name, options);
  return { ...created, audits: createAuditLog(created.client, parseEnvironment<AuditedEndpoint>(name)) };
};

/** In tokens. */
const CACHE_SIZE = 1_000;

/** Returns undefined if the token is not valid. */
export type Authenticate = (token: string) => Promise<Caller | undefined>;

/**
 * Caches valid tokens for `cacheSeconds`, so that a revoked token stops working within that time. Invalid tokens are
 * not cached, so that a new token works at once (docs/decisions/api.md#tokens-and-roles).
 */
export const cachedAuthentication = (
  repository: Pick<TokenReader, 'find'>,
  cacheSeconds: number,
  clock: Clock = Date.now,
): Authenticate => {
  const cache = lru<Caller & { untilMs: number }>(CACHE_SIZE);
  return async (token) => {
    if (!isWellFormedToken(token)) return undefined;
    const key = tokenHash(token);
    const cached = cache.get(key);
    if (cached && cached.untilMs > clock()) return cached;
    const found = await repository.find(token);
    if (!found) {
      cache.delete(key);
      return undefined;
    }
    const { ttl, ...caller } = found;
    cache.set(key, { ...caller, untilMs: Math.min(clock() + cacheSeconds * 1000, ttl * 1000) });
    return caller;
  };
};

/** Maps any error to the error of the response (docs/decisions/api.md#error-format). */
const toServiceError = (error: unknown): ServiceError => {
  if (error instanceof ServiceError) return error;
  if (error instanceof UnconfirmedChangeError) return unconfirmedChange(error);
  return isDependencyFailure(error) ? unavailable(error) : internalError();
};

/**
 * Responds to thrown errors, and logs those with a 5xx status. It counts those that occur because DynamoDB throttles
 * only the caller's partition, so that alarms can exclude them. It must be the first middleware, to handle errors of all
 * others.
 */
export const errorHandler = (): MiddlewareObj<ApiRequest, ApiResponse, Error, Context & Partial<CallerContext>> => {
  const isTenantThrottled = createThrottlingWatch(Date.now);
  return {
    onError: ({ event, error, context: { caller, appliedPreference } }) => {
      const serviceError = toServiceError(error);
      const requestId = event.requestContext.requestId;
      const reason = error instanceof ServiceError || error instanceof UnconfirmedChangeError ? error.cause : error;
      if (caller && isTenantThrottled(reason, caller.tenant)) count({ throttled_requests: 1 });
      if (errorStatus[serviceError.type] >= 500) {
        const { cause } = error instanceof ServiceError ? error : { cause: undefined };
        logger.error('request failed', {
          request_id: requestId,
          type: serviceError.type,
          ...errorTrace(cause ?? error),
        });
      }
      return withPreferenceApplied(errorResponse(serviceError, requestId), appliedPreference);
    },
  };
};

/** In UTF-16 units. A longer header is ignored. */
export const MAX_PREFER_LENGTH = 1_024;

/** A token and a quoted string (RFC 9110, sections 5.6.2 and 5.6.4). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const QUOTED = /^"(?:[^"\\]|\\.)*"$/;

/** Except within quoted strings. */
const split = (text: string, separator: string): string[] => {
  const parts: string[] = [];
  let [start, isQuoted] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isQuoted && character === '\\') at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === separator && !isQuoted) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
};

const isWord = (text: string): boolean => TOKEN.test(text) || QUOTED.test(text);

/**
 * Returns the values of the preferences in a `Prefer` header (RFC 7240, section 2) by their names in lower case. Of a
 * repeated preference the first one counts. A value that is absent is empty. Parameters are ignored, because those of
 * `handling` and `return` mean nothing, and so is what is malformed.
 * @param header the values of all `Prefer` headers, joined by commas, as API Gateway does
 */
export const parsePreferences = (header = ''): ReadonlyMap<string, string> => {
  const preferences = new Map<string, string>();
  if (header.length > MAX_PREFER_LENGTH) return preferences;
  for (const element of split(header, ',')) {
    const [preference = ''] = split(element, ';');
    const [name = '', value = '', ...rest] = split(preference, '=');
    if (!TOKEN.test(name) || (value !== '' && !isWord(value)) || rest.length > 0) continue;
    const key = name.toLowerCase();
    const text = QUOTED.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
    if (!preferences.has(key)) preferences.set(key, text);
  }
  return preferences;
};
