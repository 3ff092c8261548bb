import { describe, expect, it } from 'vitest';
import type { AlarmEvent } from '../../../shared/contracts/alarm-event.ts';
import type { NoticeContent } from '../../../shared/contracts/notice.ts';
import { type Alert, withAlarmUrl } from '../../../shared/domain/transport.ts';
import { alertValues } from '../../../shared/domain/webhook-body.ts';
import { atomEntry } from '../../../shared/pipeline/transports/atom-entry.ts';
import { emailMessage } from '../../../shared/pipeline/transports/email-message.ts';
import { operatorMessage } from '../../../shared/pipeline/transports/operator-message.ts';
import { pagerEvent, pagerEventV2 } from '../../../shared/pipeline/transports/pager-event.ts';
import { routerEvent } from '../../../shared/pipeline/transports/router-event.ts';
import { smsMessage } from '../../../shared/pipeline/transports/sms-message.ts';
import { alert } from '../../support/alert.ts';
import { alarmEvent, alertContent } from '../../support/events.ts';

const URL = 'https://console.example.com/a?b=1&c=2';

/** The texts that people read, and the links, of each type. */
const types: [string, textsOf: (alert: Alert) => readonly string[], linkOf: (alert: Alert) => unknown][] = [
  ['email', (sent) => Object.values(emailMessage(sent)).slice(0, 2), (sent) => emailMessage(sent).text],
  ['email as HTML', () => [], (sent) => emailMessage(sent).html.replaceAll('&amp;', '&')],
  ['webhook', (sent) => [String(alertValues(sent).title)], (sent) => alertValues(sent).url],
  ['sms', (sent) => [smsMessage(sent)], () => undefined],
  ['managed', (sent) => Object.values(operatorMessage(sent)), (sent) => operatorMessage(sent).text],
  [
    'incidentpager',
    (sent) => [JSON.parse(pagerEvent(sent, 'key')).description],
    (sent) => JSON.parse(pagerEvent(sent, 'key')).client_url,
  ],
  [
    'incidentpager, Events API v2',
    (sent) => [JSON.parse(pagerEventV2(sent, 'key')).payload.summary],
    (sent) => JSON.parse(pagerEventV2(sent, 'key')).links?.[0]?.href,
  ],
  [
    'incidentrouter',
    (sent) => [JSON.parse(routerEvent(sent)).entity_display_name],
    (sent) => JSON.parse(routerEvent(sent))['vo_annotate.u.Alarm'],
  ],
  ['atomfeed', (sent) => [atomEntry(sent, 'c')], (sent) => atomEntry(sent, 'c').replaceAll('&amp;', '&')],
];

describe.each(types)('an alert of type %s', (type, textsOf, linkOf) => {
  it('says after its state that it is late', () => {
    for (const text of textsOf({ ...alert, delayMs: 7 * 60_000 })) {
      expect(text).toContain('[CRITICAL] (delayed by 7 minutes) web-1: Disk space');
    }
    for (const text of textsOf({ ...alert, delayMs: 120_000 })) expect(text).not.toContain('delayed');
  });

  it('has the link to its alarm, unless it is an SMS', () => {
    const [without, linked] = [linkOf(alert), linkOf({ ...alert, alarmUrl: URL })];
    expect(String(linked).includes(URL)).toBe(type !== 'sms');
    expect(String(without)).not.toMatch(/console|Open the alarm|links|rel=/);
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
