import { expect, it } from 'vitest';
import { type SentEmail, sesService } from '../ses.ts';
import { emailEvents, eventsOf, type Mail } from '../ses-events.ts';

/** Sends an email to an address. @returns the response, and the emails that SES accepted */
const send = async (address: string) => {
  const accepted: SentEmail[] = [];
  const raw = `From: a@example.com\r\nTo: ${address}\r\nSubject: s\r\n\r\ntext\r\n`;
  const form = new URLSearchParams({
    Source: 'a@example.com',
    'Destinations.member.1': address,
    'RawMessage.Data': Buffer.from(raw).toString('base64'),
  });
  const response = await sesService((email) => void accepted.push(email))({
    service: 'email',
    action: 'SendRawEmail',
    caller: '',
    path: '/',
    headers: {},
    body: Buffer.from(form.toString()),
    signal: new AbortController().signal,
  });
  return { status: response.status, body: String(response.body), accepted };
};

it('sends to an address, with a name or without', async () => {
  for (const address of ['a.b@example.com', 'A <a.b@example.com>'])
    expect(await send(address)).toMatchObject({ status: 200, accepted: [{ to: [address] }] });
});

it.each([
  ['.a@example.com', 'Local address starts with dot'],
  ['a.@example.com', 'Local address ends with dot'],
  ['a..b@example.com', 'Local address contains dot-dot'],
  ['A <a..b@example.com>', 'Local address contains dot-dot'],
  ['a@192.0.2.1', 'Domain is an IP address'],
  ['a', 'Missing final'],
])('refuses the address %s', async (address, message) => {
  const { status, body, accepted } = await send(address);
  expect([status, accepted]).toEqual([400, []]);
  expect(body).toContain('<Code>InvalidParameterValue</Code>');
  expect(body).toContain(message);
});

const AT = '2026-01-01T00:00:00.000Z';
const mailTo = (name: string): Mail => ({
  timestamp: AT,
  messageId: 'm',
  destination: [`${name}@simulator.amazonses.com`],
  tags: {},
});

it.each<[name: string, events: (mail: Mail) => object[]]>([
  ['success', (mail) => [emailEvents.delivery(mail, AT)]],
  ['bounce', (mail) => [emailEvents.bounce(mail, AT)]],
  ['suppressionlist', (mail) => [emailEvents.bounce(mail, AT, 'Permanent', 'Suppressed')]],
  ['suppressionlist+account', (mail) => [emailEvents.bounce(mail, AT, 'Permanent', 'OnAccountSuppressionList')]],
  ['complaint', (mail) => [emailEvents.delivery(mail, AT), emailEvents.complaint(mail, AT)]],
  ['complaint+suppressed', (mail) => [emailEvents.complaint(mail, AT, 'OnAccountSuppressionList')]],
])('an email to %s of the mailbox simulator has the events of its kind', (name, events) => {
  expect(eventsOf(mailTo(name))).toEqual(events(mailTo(name)));
});
