import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import type { NoticeContent } from '../../../shared/contracts/notice.ts';
import { type Alert, withAlarmUrl } from '../../../shared/domain/transport.ts';
import { alertValues } from '../../../shared/domain/webhook-body.ts';
import { atomEntry } from '../../../shared/pipeline/transports/atomfeed.ts';
import { emailMessage } from '../../../shared/pipeline/transports/email-message.ts';
import { pagerEvent, pagerEventV2 } from '../../../shared/pipeline/transports/incidentpager.ts';
import { routerEvent } from '../../../shared/pipeline/transports/incidentrouter.ts';
import { operatorMessage } from '../../../shared/pipeline/transports/managed.ts';
import { smsMessage } from '../../../shared/pipeline/transports/sms.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent, alertContent } from '../../support/events.ts';

const URL = 'https://console.example.com/a?b=1';

/** The message of each type, and how it has the link. */
const types: [string, messageOf: (alert: Alert) => string | object, link: string][] = [
  ['email', emailMessage, `Open the alarm: ${URL}`],
  ['email as HTML', (sent) => [emailMessage(sent).subject, emailMessage(sent).html], `<a href=\\"${URL}\\"`],
  ['webhook', alertValues, `"url":"${URL}"`],
  ['managed', operatorMessage, `Open the alarm: ${URL}`],
  ['incidentpager', (sent) => pagerEvent(sent, 'key'), `"client_url":"${URL}"`],
  ['incidentpager v2', (sent) => pagerEventV2(sent, 'key'), `"links":[{"href":"${URL}","text":"Open the alarm"}]`],
  ['incidentrouter', routerEvent, `"vo_annotate.u.Alarm":"${URL}"`],
  ['atomfeed', (sent) => atomEntry(sent, 'c'), `<link rel="alternate" href="${URL}"/>`],
  ['sms', smsMessage, ''],
];

describe.each(types)('an alert of type %s', (_, messageOf, link) => {
  const textOf = (changes: Partial<Alert>): string => {
    const message = messageOf({ ...alert, ...changes });
    return typeof message === 'string' ? message : JSON.stringify(message);
  };

  it('says after its state that it is late', () => {
    for (const [delayMs, delay] of [
      [120_001, '2 minutes'],
      [30 * 3_600_000, '30 hours'],
    ] as const)
      expect(textOf({ delayMs })).toContain(`[CRITICAL] (delayed by ${delay}) web-1: Disk space`);
    expect(textOf({ delayMs: 120_000 })).not.toContain('delayed');
  });

  it('has the link to its alarm, unless it is an SMS', () => {
    expect(textOf({ alarmUrl: URL })).toContain(link);
    expect(textOf(link === '' ? { alarmUrl: URL } : {})).not.toMatch(/console|Open the alarm|links|rel=/);
  });
});

it('the lines of an alert say after the state that it is late', () => {
  expect(String(alertValues({ ...alert, delayMs: 7 * 60_000 }).text)).toMatch(
    /^State: CRITICAL \(delayed by 7 minutes\) \(was OK\)\nStatus: Disk is full\n/,
  );
});

it('an incident that ends has no link in the pager', () => {
  const resolved = { ...alert, ...alertContent(alarmEvent({ details: { state: 'OK' } })), alarmUrl: URL };
  for (const body of [pagerEvent(resolved, 'key'), pagerEventV2(resolved, 'key')]) expect(body).not.toContain(URL);
});

describe('the link to an alarm', () => {
  const TEMPLATE = 'https://console.example.com/{tenant_id}/alarms/{alarm_id}?entity={entity_id}';

  const linkOf = async (
    changes: Partial<AlarmEvent>,
    notice?: NoticeContent,
    template: string | undefined = TEMPLATE,
  ) => {
    const links: (string | undefined)[] = [];
    const transport = withAlarmUrl(async ({ alarmUrl }) => {
      links.push(alarmUrl);
      return { result: 'delivered', explanation: '' };
    }, template);
    await transport({ ...alert, ...alertContent(alarmEvent(changes)), notice }, {});
    return links[0];
  };

  it('has the percent-encoded IDs of the alarm', async () => {
    expect(await linkOf({})).toBe('https://console.example.com/acme/alarms/alBBBB?entity=enAAAA');
    expect(await linkOf({ tenant_id: "a/b(c)'!*", entity: { id: 'é&$1' }, alarm: { id: '{tenant_id}' } })).toBe(
      'https://console.example.com/a%2Fb%28c%29%27%21%2A/alarms/%7Btenant_id%7D?entity=%C3%A9%26%241',
    );
  });

  it.each(['.', '..', 'x'.repeat(129), '😀'.repeat(129), 'a\ud800'])('is absent if an ID is %j', async (id) => {
    expect(await linkOf({ entity: { id } })).toBeUndefined();
    expect(await linkOf({ alarm: { id } })).toBeUndefined();
  });

  it('has IDs of 128 characters', async () => {
    expect(await linkOf({ alarm: { id: 'x'.repeat(128) } })).toContain('x'.repeat(128));
  });

  it('is in escalations of one alarm, and in no other notice', async () => {
    const notice = (kind: NoticeContent['kind']) => ({ kind, subject: '', paragraphs: [], facts: [] });
    expect(await linkOf({}, notice('unreached'))).toContain('/alBBBB');
    for (const kind of ['summary', 'unreached']) {
      expect(await linkOf({ alarm: { id: kind } }, notice('unreached'))).toBeUndefined();
    }
    expect(await linkOf({}, notice('failing'))).toBeUndefined();
  });
});
