import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, synthesized } from '../support/stack.ts';

const { template } = synthesized();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', z.object({ AlarmDescription: z.string() }));

const runbook = readFileSync(resolve(import.meta.dirname, '../../RUNBOOK.md'), 'utf8');
const [, chapter = ''] = runbook.split(/^# Alarms$/m);

/** The sections on alarms, by the anchor that their heading gets. */
const sections = new Map(
  chapter
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...text] = section.split('\n');
      return [heading.toLowerCase().replaceAll(' ', '-'), text.join('\n')];
    }),
);

const anchors = [...alarms.values()].map(
  ({ AlarmDescription }) => /RUNBOOK\.md#([a-z0-9-]+)$/.exec(AlarmDescription)?.[1],
);

describe('the runbook', () => {
  it('has a heading for every alarm, and no heading without an alarm', () => {
    expect(new Set(anchors)).toEqual(new Set(sections.keys()));
  });

  it.each([...sections])('says what it means, how to look, how to mend, and when it is over: %s', (_, text) => {
    for (const part of ['Meaning', 'Look', 'Mend', 'Over']) expect(text).toMatch(new RegExp(`\\*\\*${part}\\b`));
  });

  it('has no link that leads nowhere', () => {
    for (const [, anchor = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) expect([...sections.keys()]).toContain(anchor);
  });
});

describe('every alarm', () => {
  it.each([...alarms])('says in few words what it means and what to do first: %s', (_, { AlarmDescription }) => {
    expect(AlarmDescription).toMatch(/^.{20,}[.] First step: .{10,}[.] RUNBOOK\.md#/);
    expect(AlarmDescription.length).toBeLessThan(500);
  });
});
