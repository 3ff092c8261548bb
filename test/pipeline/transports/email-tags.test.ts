import { escape as escapeHtml } from 'html-escaper';
import PostalMime from 'postal-mime';
import { describe, expect, it, vi } from 'vitest';
import { emailTags, tenantTag } from '../../../shared/domain/email-event.ts';
import { addressHash, type EmailStop, parseOptOutQuery } from '../../../shared/domain/email-stop.ts';
import { newNotificationId } from '../../../shared/domain/notification-id.ts';
import type { Alert } from '../../../shared/domain/transport.ts';
import type { EmailSenderDependencies } from '../../../shared/pipeline/email-sender.ts';
import type { ReportStop } from '../../../shared/pipeline/report-messages.ts';
import { createEmailTransport } from '../../../shared/pipeline/transports/email.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent } from '../../support/events.ts';
import { emailSender, noStops, optOutKeys } from '../../support/opt-outs.ts';
import { startHttp, stubAws } from '../../support/servers.ts';

type Stops = EmailSenderDependencies['stops'];

const accepted =
  '<SendRawEmailResponse><SendRawEmailResult><MessageId>m</MessageId></SendRawEmailResult></SendRawEmailResponse>';

/** Sends an email to a local SES endpoint. @returns the outcome, and the request */
const send = async (changes: Partial<Alert> = {}, stops: Stops = noStops, status = 200, body = accepted) => {
  const reported: string[] = [];
  const reportStop: ReportStop = async (_, { reason }) => void reported.push(reason);
  let form = new URLSearchParams();
  const server = await startHttp(async (request, response) => {
    form = new URLSearchParams((await request.toArray()).join(''));
    response.writeHead(status).end(body);
  });
  stubAws(server);
  const transport = createEmailTransport(emailSender({ stops, reportStop }), { timeZone: async () => 'UTC' });
  const outcome = await transport({ ...alert, ...changes }, { address: 'a@example.com' }, { label: 'On\u202e call' });
  vi.unstubAllEnvs();
  return { outcome, form, reported };
};

/** Sends an email that SES accepts. @returns the request, and its message */
const requestOf = async (changes?: Partial<Alert>, stops?: Stops) => {
  const { outcome, form } = await send(changes, stops);
  expect(outcome).toMatchObject({
    result: 'delivered',
    reachedRecipientHashes: [addressHash(alert.deliveryId, 'a@example.com')],
  });
  return { form, message: await PostalMime.parse(Buffer.from(form.get('RawMessage.Data') ?? '', 'base64')) };
};

it('an email says that it is automatic, and mail servers do not answer it', async () => {
  const { message } = await requestOf();
  const header = (name: string) => message.headers.find(({ key }) => key === name)?.value;
  expect([header('auto-submitted'), header('x-auto-response-suppress')]).toEqual(['auto-generated', 'All']);
});

it('the link to stop emails is in one line, because some servers change a folded one', async () => {
  const { form } = await requestOf();
  const raw = Buffer.from(form.get('RawMessage.Data') ?? '', 'base64').toString();
  expect(raw).toMatch(/^List-Unsubscribe: <https:\S+>\r$/m);
});

it('an email has a way to stop the emails of its tenant: in two headers, in its text and in its HTML', async () => {
  const { message } = await requestOf();
  const header = (name: string) => message.headers.find(({ key }) => key === name)?.value;
  const url = /^<(.*)>$/.exec(header('list-unsubscribe') ?? '')?.[1] ?? '';
  expect(header('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
  expect(url).toMatch(/^https:\/\/api\.example\.org\/v1\/opt-out\?tenant=[\w-]+&link=[\w-]+$/);
  expect(url).not.toContain('example.com');
  expect(message.text).toContain(
    `This email is from "On call" of the account acme. Stop emails from this account to you: ${url}`,
  );
  expect(message.html).toContain(`<a href="${escapeHtml(url)}">Stop emails from this account to you</a>`);
  const recipient = { tenant: 'acme', address: 'a@example.com' };
  expect(parseOptOutQuery(await optOutKeys.current(), new URL(url).search.slice(1))).toEqual(recipient);
});

describe('the tags of an email', () => {
  const tagsSent = async (notificationId?: string, stops?: Stops) => {
    const { form } = await requestOf(notificationId === undefined ? {} : { notificationId }, stops);
    const tag = (part: 'Name' | 'Value') =>
      [...form].filter(([name]) => name.startsWith('Tags.') && name.endsWith(part)).map(([, value]) => value);
    const values = tag('Value');
    return Object.fromEntries(tag('Name').map((name, index) => [name, values[index]]));
  };

  it('identify its delivery, which stores a hash of the recipient', async () => {
    const id = newNotificationId();
    expect(await tagsSent(id)).toEqual({ kind: 'alert', ...emailTags(alarmEvent(), id) });
  });

  it('have only tenant and kind for a test', async () => {
    expect(await tagsSent()).toEqual({ kind: 'test', tenant: tenantTag(alarmEvent().tenant_id) });
  });

  it('name the stop in spite of which a test is sent', async () => {
    const stop = { reason: 'bounced' as const, sinceMs: 1_000 };
    const stops = { ...noStops, find: async () => stop, claimTest: async () => 2_000 };
    expect(await tagsSent(undefined, stops)).toMatchObject({ kind: 'test', stop: '1000' });
  });
});

const errorOf = (code: string, text: string) =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${text}</Message></Error></ErrorResponse>`;
const rejection = errorOf('MessageRejected', 'Address blacklisted.');

describe('a stop is reported', () => {
  const stop: EmailStop = { reason: 'bounced', sinceMs: 1_000 };

  it('when SES rejects an address', async () => {
    const stops: Stops = { ...noStops, bounce: async () => stop };
    expect((await send({ notificationId: 'ntA' }, stops, 400, rejection)).reported).toEqual(['bounced']);
  });

  it('when an email is not sent, because whoever began the stop may have crashed before', async () => {
    const stops: Stops = { ...noStops, find: async () => stop };
    const { outcome, reported } = await send({ notificationId: 'ntA' }, stops);
    expect([outcome, reported]).toMatchObject([{ reason: 'bounced' }, ['bounced']]);
  });
});

it.each([
  ['that SES throttles is given back', errorOf('Throttling', 'Maximum sending rate exceeded.'), [2_000]],
  ['to an address that SES rejects is not', rejection, []],
])('a test in spite of a bounce %s', async (_, body, expected) => {
  const givenBack: number[] = [];
  const stops: Stops = {
    ...noStops,
    find: async () => ({ reason: 'bounced', sinceMs: 1_000 }),
    claimTest: async () => 2_000,
    giveBackTest: async (_recipient, claimedAtMs) => void givenBack.push(claimedAtMs),
  };
  expect(await send({}, stops, 400, body)).toMatchObject({ outcome: { nothingSent: true } });
  expect(givenBack).toEqual(expected);
});
