import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { lru } from 'tiny-lru';
import type { AccountRepository } from '../../adapters/accounts/account-repository.ts';
import type { HttpClient } from '../../adapters/outbound-http/http-client.ts';
import type { SentRequest } from '../../contracts/responses/notifications.ts';
import { parseStoredRequest, type WebhookRequest } from '../../contracts/webhook-request.ts';
import { type AttemptOutcome, failed } from '../../domain/attempt-outcome.ts';
import { isHeartbeat } from '../../domain/heartbeat.ts';
import type { HttpResponses } from '../../domain/http-outcome.ts';
import { withoutSecrets } from '../../domain/response-text.ts';
import { noSigningSecrets, signersAt } from '../../domain/signing-secrets.ts';
import type { Alert, Transport } from '../../domain/transport.ts';
import { MAX_WEBHOOK_BODY_BYTES, placeholdersWithoutValue, webhookBody } from '../../domain/webhook-body.ts';
import { secretsIn, sendByHttp, type TypeRequest } from './http-transport.ts';

const MAX_SHOWN_BYTES = 4 * 1024;

type ShownRequest = Pick<TypeRequest, 'url' | 'headers' | 'body'>;

const namesOf = ({ headers, url }: ShownRequest): string[] => {
  const names = Object.keys(headers);
  const isAuthorized = names.some((name) => name.toLowerCase() === 'authorization');
  // The HTTP client adds it.
  return url.username + url.password === '' || isAuthorized ? names : [...names, 'authorization'];
};

/**
 * What a test shows of its request: neither secrets, nor a body that repeats them, nor one whose search takes too long
 * (docs/decisions/api.md#test-operations).
 */
export const sentRequest = (request: ShownRequest): SentRequest => {
  const { url, body } = request;
  const shown = withoutSecrets(body, [...secretsIn(url, false), url.search]);
  return {
    method: 'POST',
    url: url.origin + url.pathname,
    headers: namesOf(request),
    ...(shown !== undefined && {
      // As a stream, the decoder omits a character that is cut.
      body: new TextDecoder().decode(Buffer.from(shown).subarray(0, MAX_SHOWN_BYTES), { stream: true }),
    }),
  };
};

/** Signing keys by secret: creating a key takes four times as long as signing. */
const keys = lru<KeyObject>(1_000);

const signingKey = (secret: string): KeyObject => {
  const cached = keys.get(secret);
  if (cached) return cached;
  const key = createSecretKey(Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
  keys.set(secret, key);
  return key;
};

export type WebhookSigners = { token?: string | undefined; secrets: readonly string[] };

/** The token (docs/api.md#webhook-headers) and a Standard Webhooks 1.0.0 signature per secret. */
export const webhookHeaders = (
  { token, secrets }: WebhookSigners,
  deliveryId: string,
  nowMs: number,
  body: string,
): Record<string, string> => {
  const id = `msg_${deliveryId}`;
  const seconds = Math.floor(nowMs / 1000);
  const signatures = secrets.map(
    (secret) => `v1,${createHmac('sha256', signingKey(secret)).update(`${id}.${seconds}.${body}`).digest('base64')}`,
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'monitoring-notifications/1',
    ...(token !== undefined && { 'x-monitoring-webhook-token': token }),
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
};

export const webhookResponses: HttpResponses = {
  success: 'Success: Webhook successfully executed',
  expected: 'one of: /2[0-9]{2}/',
  rules: [
    { status: /^2..$/, result: 'delivered' },
    { status: /^410$/, result: 'permanent' },
    { status: /^(429|503)$/, withRetryAfter: true, result: 'throttled' },
  ],
};

const bodyTooLarge = failed(
  'permanent',
  'too_large',
  `The body of webhook_request produces more than ${MAX_WEBHOOK_BODY_BYTES} bytes`,
);

const hasOwnBody = (request: WebhookRequest): boolean => Object.hasOwn(request, 'body');

/** Returns the body of an alert, or undefined if the template of the notification produces one that is too large. */
const bodyOf = (alert: Alert, request: WebhookRequest): string | undefined =>
  hasOwnBody(request) ? webhookBody(request.body, alert) : alert.payload;

const shownInTest = (alert: Alert, { body }: WebhookRequest, sent: TypeRequest): AttemptOutcome['shown'] => {
  const missing = placeholdersWithoutValue(body ?? null, alert);
  const warnings = missing.map((placeholder) => `${placeholder} has no value in the test message`);
  return { request: sentRequest(sent), ...(warnings.length > 0 && { warnings }) };
};

/**
 * Posts the signed payload with the tenant's token, or the body and headers of `webhook_request`. The account signs no
 * body that the creator of a notification chose: it would be an alert to each other receiver of the account.
 */
export const createWebhookTransport =
  (accounts: Pick<AccountRepository, 'webhookCredentials'>, http: HttpClient, heartbeatUrl = ''): Transport =>
  async (alert, { url = '' }, { webhookRequest, signingSecrets } = {}) => {
    const { event, deliveryId } = alert;
    const own = signersAt(signingSecrets ?? noSigningSecrets, Date.now());
    const account = own.isAccountSigning ? await accounts.webhookCredentials(event.tenant_id) : undefined;
    const request = webhookRequest === undefined ? {} : parseStoredRequest(webhookRequest);
    const accountSecrets = account && !hasOwnBody(request) ? account.secrets : [];
    const signers = { token: account?.token, secrets: [...own.secrets, ...accountSecrets] };
    const body = bodyOf(alert, request);
    if (body === undefined) return bodyTooLarge;
    const headers = { ...request.headers, ...webhookHeaders(signers, deliveryId, Date.now(), body) };
    const destination = new URL(isHeartbeat(event) ? heartbeatUrl : url);
    const secrets = [
      ...(account ? [account.token, ...account.secrets] : []),
      ...own.secrets,
      ...Object.values(request.headers ?? {}),
    ];
    const sent = { url: destination, headers, body, secrets };
    const outcome = await sendByHttp(webhookResponses, http, alert, sent);
    const isShown = alert.notificationId === undefined && webhookRequest !== undefined;
    return isShown ? { ...outcome, shown: shownInTest(alert, request, sent) } : outcome;
  };
