import type { ServerResponse } from 'node:http';
import type { WebhookAddress, WebhookResponse } from './message.ts';
import { sendJson } from './simulated-endpoints.ts';

/** How the webhook addresses of the inbox respond, one address per tenant. */
export class WebhookResponder {
  readonly #slowResponseMs: number;
  readonly #responses = new Map<string, WebhookResponse>();

  /** @param slowResponseMs the delay of a slow response in ms */
  constructor(slowResponseMs: number) {
    this.#slowResponseMs = slowResponseMs;
  }

  /** Returns how the address of a tenant responds. */
  responseOf(tenant: string): WebhookResponse {
    return this.#responses.get(tenant) ?? '200';
  }

  /** Makes the address of a tenant respond differently from now on. */
  setResponse(tenant: string, response: WebhookResponse): void {
    this.#responses.set(tenant, response);
  }

  /** Returns the addresses of these tenants and of those whose response was set. */
  addresses(inboxUrl: string, tenants: readonly string[]): WebhookAddress[] {
    return [...new Set([...tenants, ...this.#responses.keys()])].map((tenant) => this.address(inboxUrl, tenant));
  }

  /** Returns the address of a tenant. */
  address(inboxUrl: string, tenant: string): WebhookAddress {
    const url = `${inboxUrl}/webhooks/${encodeURIComponent(tenant)}`;
    return { tenant, url, respond: this.responseOf(tenant) };
  }

  /** Sends the selected response. A slow one is cancelled if the connection closes. */
  respond(response: ServerResponse, selected: WebhookResponse): void {
    if (selected !== 'slow') {
      sendJson(response, Number(selected), { message: `This address responds with ${selected}.` });
      return;
    }
    const respondLate = () => sendJson(response, 200, { message: 'This address responds slowly.' });
    const timer = setTimeout(respondLate, this.#slowResponseMs);
    response.once('close', () => clearTimeout(timer));
  }
}
