/** How a webhook address of the inbox responds: with a status, or with 200 after the sender has timed out. */
export const webhookResponses = ['200', '410', '500', 'slow'] as const;

export type WebhookResponse = (typeof webhookResponses)[number];

export type WebhookAddress = { tenant: string; url: string; respond: WebhookResponse };

/** Whether a webhook is authentic (docs/api.md#webhook-headers). */
export type WebhookVerification = {
  /** Whether the receiver can trust the request: there are no problems. */
  verified: boolean;
  /** Sentences, the first problem of each check. */
  problems: string[];
  /** The secrets of the tenant that signed the request. After a rotation, senders use both for 24 hours. */
  signed_with: ('current' | 'replaced')[];
};

export type WebhookMessage = WebhookVerification & {
  kind: 'webhook';
  tenant: string;
  path: string;
  content_type: string;
  headers: Record<string, string>;
  body: string;
  responded: WebhookResponse;
};

export type SimulatedKind = 'incidentpager' | 'incidentrouter' | 'atomfeed';

/** A message that the stack sent through a local AWS service or to an endpoint of the inbox. */
export type SentMessage =
  | {
      kind: 'email';
      from: string;
      to: string[];
      subject: string;
      text: string;
      html: string;
      /** By lower-case names. */
      headers?: Record<string, string>;
    }
  | { kind: 'sms'; to: string; text: string; attributes: Record<string, string> }
  | { kind: 'managed'; topic: string; subject: string | null; text: string }
  | { kind: SimulatedKind; path: string; content_type: string; body: string }
  | WebhookMessage;

export type MessageKind = SentMessage['kind'];

/** A message with its number, which increases with each message, and the time of its arrival (ISO 8601). */
export type InboxMessage = SentMessage & { id: number; sent_at: string };

export type MessageSummary = {
  id: number;
  kind: MessageKind;
  sent_at: string;
  to: string[];
  title: string;
  preview: string;
  /** Of webhooks only. */
  verified?: boolean;
  /** Of webhooks only. */
  responded?: WebhookResponse;
};

/** The stack that sends to the inbox, for the commands that the page shows. */
export type StackAddresses = {
  base_url: string;
  inbox_url: string;
  /** An API token of the first tenant. */
  token: string;
  tenants: readonly string[];
};

/** The events of `GET /updates`, by name. */
export type InboxUpdates = {
  /** All messages that match, newest first. It replaces what the client has. */
  snapshot: MessageSummary[];
  /** New messages that match, newest first. */
  added: MessageSummary[];
  webhooks: WebhookAddress[];
  stack: StackAddresses;
};

/** The maximum number of messages in the inbox; older ones are removed. */
export const MAX_MESSAGES = 10_000;

export const kindNames: Record<MessageKind, string> = {
  email: 'Email',
  sms: 'SMS',
  webhook: 'Webhook',
  incidentpager: 'Pager',
  incidentrouter: 'Router',
  atomfeed: 'Feed',
  managed: 'Operators',
};
