import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertiesOf, synthesize } from '../support/stack.ts';

const { template } = synthesize();
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', z.object({ AlarmDescription: z.string() }));

const runbook = readFileSync(resolve(import.meta.dirname, '../../RUNBOOK.md'), 'utf8');
const [, chapter = ''] = runbook.split(/^# Alarms$/m);

/** The sections on alarms, by anchor. */
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

describe('RUNBOOK.md', () => {
  it('has a section for every alarm, and no section without an alarm', () => {
    expect(new Set(anchors)).toEqual(new Set(sections.keys()));
  });

  it.each([...sections])('has the parts Impact, Investigate, Resolve and Verify: %s', (_, text) => {
    for (const part of ['Impact', 'Investigate', 'Resolve', 'Verify'])
      expect(text).toMatch(new RegExp(`\\*\\*${part}\\b`));
  });

  it('has no broken links between sections', () => {
    for (const [, anchor = ''] of runbook.matchAll(/\]\(#([^)]+)\)/g)) expect([...sections.keys()]).toContain(anchor);
  });
});

describe('alarm descriptions', () => {
  it.each([...alarms])(
    'contain the impact, the first step and the runbook section in less than 500 characters: %s',
    (_, { AlarmDescription }) => {
      expect(AlarmDescription).toMatch(/^.{20,}[.] First step: .{10,}[.] RUNBOOK\.md#/);
      expect(AlarmDescription.length).toBeLessThan(500);
    },
  );
});
