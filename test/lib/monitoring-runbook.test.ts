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

  it.each([...sections])('names the impact, and how to investigate, resolve and verify: %s', (_, text) => {
    for (const part of ['Impact', 'Investigate', 'Resolve', 'Verify'])
      expect(text).toMatch(new RegExp(`\\*\\*${part}\\b`));
  });

  it('has no link without a target', () => {
    for (const [, anchor = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) expect([...sections.keys()]).toContain(anchor);
  });
});

describe('every alarm', () => {
  it.each([...alarms])('describes its impact and the first step in few words: %s', (_, { AlarmDescription }) => {
    expect(AlarmDescription).toMatch(/^.{20,}[.] First step: .{10,}[.] RUNBOOK\.md#/);
    expect(AlarmDescription.length).toBeLessThan(500);
  });
});
