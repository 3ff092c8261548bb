import { createHmac } from 'node:crypto';
import { webhookPayload } from '../../contracts/alarm-event.ts';
import { type Deliver, SEND_DEADLINE } from '../../domain/deliver.ts';
import { httpOutcome } from '../../domain/http-outcome.ts';
import type { AccountRepository } from '../account-repository.ts';
import { failedRequest } from '../outbound-http/failed-request.ts';
import type { HttpClient } from '../outbound-http/http-client.ts';

/** What a webhook's `User-Agent` says. */
export const USER_AGENT = 'monitoring-notifications/1';

/**
 * The Standard Webhooks 1.0.0 headers of a call: one signature for each secret, two while one is replaced.
 *
 * @param secrets `whsec_` and base64
 */
export const signatureHeaders = (secrets: readonly string[], id: string, seconds: number, body: string) => {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures.join(' '),
  };
};

/** Delivers to a `webhook` notification: the payload, the tenant's token, and a signature that the receiver can check. */
export const webhookDelivery =
  (
    accounts: Pick<AccountRepository, 'webhookCredentials'>,
    http: HttpClient,
    clock: () => number = Date.now,
  ): Deliver =>
  async ({ event, deliveryId }, { url: address = '' }) => {
    const { token, secrets } = await accounts.webhookCredentials(event.tenant_id);
    const url = new URL(address);
    const body = JSON.stringify(webhookPayload(event));
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'x-monitoring-webhook-token': token,
      ...signatureHeaders(secrets, `msg_${deliveryId}`, Math.floor(clock() / 1000), body),
    };
    try {
      return httpOutcome('webhook', await http.post({ url, headers, body }), clock());
    } catch (error) {
      return failedRequest(error, url, SEND_DEADLINE);
    }
  };
