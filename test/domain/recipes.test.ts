import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlarmEvent, alarmStates, webhookPayload } from '../../shared/contracts/alarm-event.ts';
import { parseJson } from '../../shared/contracts/json.ts';
import { parseNotification } from '../../shared/contracts/notification.ts';
import { testEvent } from '../../shared/domain/test-event.ts';
import { webhookBody } from '../../shared/domain/webhook-body.ts';
import { readDocument } from '../support/documents.ts';
import { alarmEvent, alertContent, EVENT_TIME_MS } from '../support/events.ts';
import { forAll } from '../support/quick-run.ts';
import { receivers } from '../support/receivers.ts';
import { rejectionDetails } from '../support/rejection.ts';

/** The recipes by the name that docs/api.md gives them. */
const recipes = new Map(
  [...readDocument('docs/api.md').matchAll(/^- \[(.+?)\]\((examples\/recipes\/.+?\.json)\)/gm)].map(
    ([, name = '', path = '']) => [name, parseJson(readDocument(`docs/${path}`))],
  ),
);

const bodyFor = (recipe: unknown, event: AlarmEvent): string =>
  webhookBody(parseNotification(recipe).data?.webhook_request?.body, {
    ...alertContent(event),
    eventTimeMs: EVENT_TIME_MS,
  }) ?? '';

const hostileTexts = [
  '',
  ' ',
  '"',
  '\\',
  '\r\n',
  '\0',
  '\ud800',
  '\u202e',
  '{{alert.title}}',
  '<!channel> <@U1> &amp;',
  '@everyone',
  '[link](https://evil.example)',
  '<a href="https://evil.example">',
  'l'.repeat(50_000),
  '😀'.repeat(5_000),
  '"'.repeat(5_000),
];
const values = fc.oneof(
  fc.constantFrom<unknown>(...hostileTexts, null, 7, true, [], {}, ['a']),
  fc.string({ unit: 'binary' }),
);
const ids = fc.constantFrom(...hostileTexts.filter((text) => text !== ''), 'en1');
const events = fc.record({
  state: fc.constantFrom(...alarmStates),
  status: values,
  label: values,
  id: ids,
  previous: values,
  check: values,
});

describe('the recipes', () => {
  it('are those of the receivers that the documentation names', () => {
    expect([...recipes.keys()]).toEqual([...Object.keys(receivers), 'Bearer or Basic authentication']);
  });

  it.each([...recipes])('include a valid notification for %s', (_, recipe) => {
    expect(rejectionDetails(parseNotification(recipe))).toBeUndefined();
  });
});

it.each(Object.keys(receivers))('the recipe for %s lets no CRITICAL follow the OK of its alarm', (name) => {
  expect(recipes.get(name)).toMatchObject({ ordered: true });
});

describe.each(Object.entries(receivers))('%s', (name, rejectionOf) => {
  const recipe = recipes.get(name);

  it.each(alarmStates)('accepts the message of its recipe for the state %s, and of a test', (state) => {
    const event = alarmEvent({ details: { ...alarmEvent().details, state } });
    expect(rejectionOf(bodyFor(recipe, event))).toBeUndefined();
    expect(rejectionOf(bodyFor(recipe, testEvent('acme', EVENT_TIME_MS)))).toBeUndefined();
  });

  it('accepts it whatever labels, IDs and values the event has', () => {
    forAll(50)(events, ({ state, status, label, id, previous, check }) => {
      const event = alarmEvent({
        details: { state, status, metrics: { [id]: { data: status, unit: label } } },
        entity: { id, label },
        alarm: { id, label },
        check,
        previous_state: previous,
      });
      expect(rejectionOf(bodyFor(recipe, event))).toBeUndefined();
    });
  });

  it('rejects the usual payload', () => {
    expect(rejectionOf(JSON.stringify(webhookPayload(alarmEvent())))).toBeDefined();
  });
});

const header = (text: string) => ({ type: 'header', text: { type: 'plain_text', text } });

it.each<[string, changes: object]>([
  ['Slack', { blocks: [header('😀'.repeat(76))] }],
  ['Slack', { attachments: [{ color: 'red', fallback: '', blocks: [header('t')] }] }],
  ['Microsoft Teams', { text: 'x'.repeat(28 * 1_024) }],
  ['Discord', { embeds: [{ description: 'd'.repeat(4_000) }, { description: 'd'.repeat(2_001) }] }],
  ['Google Chat', { fallbackText: 'x'.repeat(32_000) }],
])('the rules of receivers include the limits of %s', (name, changes) => {
  const accepted: object = JSON.parse(bodyFor(recipes.get(name), alarmEvent()));
  expect(receivers[name]?.(JSON.stringify({ ...accepted, ...changes }))).toBeDefined();
});
