import type { AwsFault } from 'local-aws/aws-service.ts';
import type { SentEmail } from 'local-aws/ses.ts';
import type { PublishedMessage } from 'local-aws/sns.ts';
import { fieldsOf } from '../../../shared/contracts/notification-fields.ts';
import type { HttpReply, HttpRequest } from '../engine/context.ts';
import type { Random } from '../engine/random.ts';
import {
  type Behavior,
  notificationsOf,
  type PlannedNotification,
  type PlannedTenant,
  type Scenario,
} from './scenario.ts';

/** What a message is for its recipient. */
export type ArrivalKind = 'alert' | 'summary' | 'notice' | 'escalation' | 'test';

/** A message that a destination has: accepted, whether or not it said so. */
export type Arrival = {
  atMs: number;
  /** The key of the notification, the address of a contact, or the topic of the operators (`tenant t1`). */
  to: string;
  kind: ArrivalKind;
  /** The numbers of the events that it names. */
  numbers: readonly number[];
  /** Whether its sender got the answer that it was accepted. */
  isAnswered: boolean;
  /** The execution environment that sent it. */
  by: string;
  text: string;
};

/** A message to SES or SNS. The subject of an SMS is empty. */
export type OutgoingMessage = { to: string; subject: string; text: string };

/** A request that a destination refused or left without an answer. */
export type Refusal = {
  atMs: number;
  to: string;
  kind: ArrivalKind;
  numbers: readonly number[];
  behavior: Behavior;
  /** The execution environment that sent it. */
  by: string;
  /** How long the destination asks to wait, in ms. */
  retryAfterMs?: number;
};

/** An HTTP request that a destination got, whatever it answered. */
export type ReceivedRequest = HttpRequest & { atMs: number; to: string; numbers: readonly number[]; by: string };

const HEADLINE = /^\[(OK|WARNING|CRITICAL)\] /;
const TEST = /^\[\w+\] .*: Test alarm/;
const SUMMARY = /^([\d,]+) alarms?: /;

const numbersIn = (text: string): number[] => [
  ...new Set([...text.matchAll(/#(\d+)#/g)].map(([, digits]) => Number(digits))),
];

const phoneOf = ({ index }: PlannedNotification): string => `+1202555${String(1_000 + index)}`;

/** The host of webhooks that resolves to private addresses. */
export const PRIVATE_HOST = 'private.test';

export const RECEIVERS_HOST = 'receivers.test';

/** Returns the URL of a webhook after it was moved. */
export const movedUrlOf = (key: string): string => `https://${RECEIVERS_HOST}/moved/${key}`;

/** Returns the host of a webhook. Each endpoint of an attacker that hangs has its own. */
const hostOf = ({ key, phases, host }: PlannedNotification, isPrivate: boolean): string => {
  if (isPrivate) return PRIVATE_HOST;
  return host ?? (phases[0]?.behavior === 'hang' ? `${key}.${RECEIVERS_HOST}` : RECEIVERS_HOST);
};

/** Returns the details of a notification for the API. A type with a URL gets that of a receiver. */
export const detailsOf = (notification: PlannedNotification, isPrivate: boolean): Record<string, string> => {
  const { key, type } = notification;
  if ('url' in fieldsOf(type)) return { url: `https://${hostOf(notification, isPrivate)}/${key}` };
  switch (type) {
    case 'email':
      return {
        address: notification.mailbox
          ? `${notification.mailbox.toUpperCase()}+${key}@people.test`
          : `${key}@people.test`,
      };
    case 'sms':
      return { phone_number: phoneOf(notification) };
    case 'incidentpager':
      return { service_key: `key${key}` };
    case 'incidentrouter':
      return { api_key: '00000000-0000-4000-8000-000000000000', routing_key: key };
    case 'atomfeed':
      return { category: key };
    default:
      return {};
  }
};

/** Returns the key of the email notification with an address, or else the address. */
const keyOfAddress = (address: string): string => /^(?:D\d+\+)?(d\d+)@/.exec(address)?.[1] ?? address;

const kindOfEmail = (subject: string): ArrivalKind => {
  if (TEST.test(subject)) return 'test';
  if (HEADLINE.test(subject)) return 'alert';
  return SUMMARY.test(subject) ? 'summary' : 'notice';
};

const kindOfSms = (text: string): ArrivalKind => {
  if (/ Escalated: | reached nobody today$/.test(text)) return 'escalation';
  if (TEST.test(text)) return 'test';
  return SUMMARY.test(text) ? 'summary' : 'alert';
};

const kindOfBody = (body: string): ArrivalKind => {
  if (body.includes(':unreached')) return 'escalation';
  return body.includes(':test:') || body.includes('"test"') ? 'test' : 'alert';
};

export type ReceiverOptions = {
  scenario: Scenario;
  nowMs: () => number;
  random: Random;
  trace: (line: string) => void;
  /** Called when a destination has accepted or refused a message of an execution environment. */
  onReceived: (by: string) => void;
};

/** The destinations of all tenants, and what arrived there. */
export const createReceivers = ({ scenario, nowMs, random, trace, onReceived }: ReceiverOptions) => {
  const arrivals: Arrival[] = [];
  const refusals: Refusal[] = [];
  const requests: ReceivedRequest[] = [];
  const all = new Map<string, { tenant: PlannedTenant; notification: PlannedNotification }>();
  const phones = new Map<string, string>();
  for (const tenant of scenario.tenants)
    for (const notification of notificationsOf(tenant)) {
      all.set(notification.key, { tenant, notification });
      phones.set(phoneOf(notification), notification.key);
    }

  const contacts = new Map(
    scenario.tenants.flatMap((tenant) => tenant.contacts.map(({ address, phases }) => [address, phases] as const)),
  );

  /** @param key that of a notification, or the address of a contact */
  const behaviorOf = (key: string): Behavior => {
    const phases = all.get(key)?.notification.phases ?? contacts.get(key) ?? [];
    return phases.findLast(({ fromMs }) => fromMs <= nowMs())?.behavior ?? 'accept';
  };

  const arrive = (arrival: Omit<Arrival, 'atMs'>): void => {
    arrivals.push({ atMs: nowMs(), ...arrival });
    onReceived(arrival.by);
    trace(`arrived at ${arrival.to}: ${arrival.kind} ${arrival.numbers.join(' ')}`);
  };

  /** Returns the key of the notification to whose destination a request goes. */
  const keyOfRequest = ({ url, body }: HttpRequest): string =>
    /"key(d\d+)"/.exec(body)?.[1] ?? /monitoring\.alerts\.(d\d+)/.exec(body)?.[1] ?? /\/(d\d+)$/.exec(url)?.[1] ?? '';

  const replyOf = (behavior: Behavior, type: string): HttpReply => {
    const afterMs = 20 + Math.floor(random() * 200);
    const status = type === 'atomfeed' ? 201 : 200;
    const accepted: HttpReply = {
      kind: 'response',
      status,
      body: '{"result":"success","status":"success"}',
      afterMs,
    };
    switch (behavior) {
      case 'accept':
      case 'accept-and-bounce':
      case 'accept-and-complain':
        return accepted;
      case 'accept-slowly':
        return { ...accepted, afterMs: 6_000 + Math.floor(random() * 8_000) };
      case 'accept-without-answer':
      case 'hang':
        return { kind: 'silence' };
      case 'accept-and-close':
      case 'close':
        return { kind: 'closed', afterMs };
      case 'fail':
        return { ...accepted, status: 500, body: 'failed' };
      case 'throttle':
        return {
          ...accepted,
          status: 429,
          headers: { 'retry-after': String(1 + Math.floor(random() * (random() < 0.1 ? 7_200 : 90))) },
          body: '',
        };
      case 'reject':
        return { ...accepted, status: type === 'webhook' ? 410 : 404, body: '' };
      case 'redirect':
        return { ...accepted, status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' };
    }
  };

  const entries = new Set<string>();

  /** Returns whether the feed has the entry of a request, and stores it otherwise. */
  const isKnownEntry = (body: string): boolean => {
    const [, id] = /<id>(urn:uuid:[^<]+)<\/id>/.exec(body) ?? [];
    if (id === undefined) return false;
    const isKnown = entries.has(id);
    entries.add(id);
    return isKnown;
  };

  /** What a receiver does to some messages beside its behavior, without a random number, which would change all seeds. */
  const oddityOf = (key: string, numbers: readonly number[]): 'odd' | 'idle' | 'idle-after-arrival' | undefined =>
    (['odd', 'idle', 'idle-after-arrival'] as const)[(Number(key.slice(1)) + (numbers[0] ?? 0)) % 12];

  const refuse = (refusal: Omit<Refusal, 'atMs'>): void => {
    refusals.push({ atMs: nowMs(), ...refusal });
    onReceived(refusal.by);
  };

  const isAccepted = (behavior: Behavior): boolean => behavior.startsWith('accept');

  return {
    arrivals,
    refusals,
    requests,
    behaviorOf,

    /** Answers an HTTP request as its destination does. `by` is the execution environment that sent it. */
    receive(request: HttpRequest, by: string): HttpReply {
      const key = keyOfRequest(request);
      const found = all.get(key);
      if (!found) throw new Error(`Nobody receives ${request.url}.`);
      const behavior = behaviorOf(key);
      const numbers = numbersIn(request.body);
      const oddity = oddityOf(key, numbers);
      const isClosed = request.headers.connection === 'keep-alive' && isAccepted(behavior);
      if (oddity === 'idle' && isClosed) return { kind: 'closed', isReused: true, afterMs: 1 };
      if (oddity === 'idle-after-arrival' && isClosed) {
        isKnownEntry(request.body);
        arrive({ to: key, kind: kindOfBody(request.body), numbers, isAnswered: false, by, text: request.body });
        return { kind: 'closed', isReused: true, afterMs: 1 };
      }
      requests.push({ ...request, atMs: nowMs(), to: key, numbers, by });
      // A notification can become a webhook.
      const reply = replyOf(behavior, request.url === movedUrlOf(key) ? 'webhook' : found.notification.type);
      if (isAccepted(behavior) && isKnownEntry(request.body)) {
        trace(`${key} has the entry`);
        return reply.kind === 'response' ? { ...reply, status: 409 } : reply;
      }
      if (isAccepted(behavior)) {
        const isAnswered = reply.kind === 'response';
        arrive({ to: key, kind: kindOfBody(request.body), numbers, isAnswered, by, text: request.body });
      } else {
        const retryAfter = reply.kind === 'response' ? reply.headers?.['retry-after'] : undefined;
        const retryAfterMs = Number(retryAfter ?? 0) * 1_000;
        refuse({ to: key, kind: kindOfBody(request.body), numbers, behavior, by, retryAfterMs });
        trace(`${key} answers ${behavior}`);
      }
      return oddity === 'odd' && reply.kind === 'response' ? { ...reply, isOdd: true } : reply;
    },

    /** Returns how AWS answers a message to a destination: with an error, without an answer, or normally. */
    fateOfMessage({ to, subject, text }: OutgoingMessage, by: string): { fault?: AwsFault; isLost?: boolean } {
      const key = phones.get(to) ?? keyOfAddress(to);
      const behavior = behaviorOf(key);
      if (isAccepted(behavior)) return { isLost: behavior === 'accept-without-answer' };
      const isPhone = phones.has(to);
      const kind = isPhone ? kindOfSms(text) : kindOfEmail(subject);
      refuse({ to: key, kind, numbers: numbersIn(`${subject} ${text}`), behavior, by });
      if (behavior === 'reject')
        return {
          fault: isPhone
            ? { status: 400, type: 'InvalidParameter', message: 'Invalid parameter: PhoneNumber' }
            : { status: 400, type: 'MessageRejected', message: 'Address is on the suppression list.' },
        };
      if (behavior === 'throttle')
        return {
          fault: { status: 400, type: isPhone ? 'Throttled' : 'Throttling', message: 'Maximum sending rate exceeded.' },
        };
      return { fault: { status: 500, type: 'InternalFailure', message: 'failed' } };
    },

    /** @returns the arrival */
    receiveEmail(
      { to: [address = ''], subject, text }: SentEmail,
      by: string,
      isAnswered: boolean,
    ): Pick<Arrival, 'to' | 'numbers' | 'kind'> {
      const all = `${subject}\n${text}`;
      const arrival = { to: keyOfAddress(address), numbers: numbersIn(all), kind: kindOfEmail(subject) };
      arrive({ ...arrival, isAnswered, by, text: all });
      return arrival;
    },

    receiveMessage(message: PublishedMessage, by: string, isAnswered: boolean): void {
      const { text } = message;
      const numbers = numbersIn(text);
      if (message.to === 'phone') {
        const to = phones.get(message.phoneNumber) ?? message.phoneNumber;
        arrive({ to, kind: kindOfSms(text), numbers, isAnswered, by, text });
      } else {
        const [line = '', subject = ''] = text.split(/\n+/);
        const to = `tenant ${line.replace(/^Tenant: /, '')}`;
        arrive({ to, kind: kindOfEmail(subject), numbers, isAnswered, by, text });
      }
    },
  };
};

export type Receivers = ReturnType<typeof createReceivers>;

/** Returns to whom the alerts of a notification go, as in `Arrival`. */
export const recipientsOf = (notification: PlannedNotification, tenant: PlannedTenant): string[] => {
  if (notification.type === 'managed') return [`tenant ${tenant.name}`];
  if (notification.type === 'technicalContactsEmail') return tenant.contacts.map(({ address }) => address);
  return [notification.key];
};
