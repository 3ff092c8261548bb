import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { failureReasons } from '../../shared/contracts/outcomes.ts';
import { parseFilterPattern } from '../cloudwatch/filter-pattern.ts';
import { codeBlocks, readDocument, root } from '../support/documents.ts';
import { allSettings, otherSettings } from '../support/settings.ts';
import { propertiesOf, synthesize } from '../support/stack.ts';

const { template } = synthesize(allSettings);
const description = z.object({ AlarmDescription: z.string() });
const alarms = propertiesOf(template, 'AWS::CloudWatch::Alarm', description);

const runbook = readDocument('docs/runbook.md');
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
  ({ AlarmDescription }) => /docs\/runbook\.md#([a-z0-9-]+)$/.exec(AlarmDescription)?.[1],
);

describe('docs/runbook.md', () => {
  it('has a section for every alarm, and no section without an alarm', () => {
    expect(new Set(anchors)).toEqual(new Set(sections.keys()));
  });

  it('opens with an index that names every alarm, as its name arrives, and links its section', () => {
    const [, index = ''] = /^## Index$(.*?)^## /ms.exec(runbook) ?? [];
    const rows = [...index.matchAll(/^- \[(`.*?`)\]\(#([a-z0-9-]+)\)/gm)].flatMap(([, names = '', anchor]) =>
      [...names.matchAll(/\w+/g)].map(([name]) => [name, anchor] as const),
    );
    const named = [...alarms.keys()].map((id) => /^Monitoring(\w+)Alarm[0-9A-F]{8}$/.exec(id)?.[1]);
    // The stack has this alarm only with more types.
    expect(new Map(rows.filter(([name]) => name !== 'QueueAge2' || named.includes(name)))).toEqual(
      new Map(named.map((name, position) => [name, anchors[position]])),
    );
  });

  it.each([...sections])('has the parts Investigate, Resolve and Verify: %s', (_, text) => {
    for (const part of ['Investigate', 'Resolve', 'Verify']) expect(text).toMatch(new RegExp(`\\*\\*${part}\\b`));
  });
});

it('every command of the command line in the runbook, by its helper, and in alarms selects the stack', () => {
  const descriptions = [...alarms.values()].map(({ AlarmDescription }) => AlarmDescription);
  const opsCommands = [...[runbook, ...descriptions].join('\n').matchAll(/npm run .*?ops -- [^`\n|]+/g)].map(
    ([text]) => text,
  );
  expect(opsCommands.length).toBeGreaterThan(5);
  const withoutStack = opsCommands.filter((text) => !/ --(stack MonitoringNotifications|offline)\b/.test(text));
  expect(withoutStack).toEqual([]);
});

/** The calls of `logs` in the index. */
const logsInIndex = /`(logs \w+ '[^'`]*')`/g;
/** The commands of the runbook, one line each. */
const commands = [
  ...codeBlocks(runbook.replace(/^ +/gm, ''), 'sh'),
  ...[...runbook.matchAll(logsInIndex)].map(([, command = '']) => command),
].join('\n');
/** The text of the runbook without its commands. */
const prose = runbook.replace(/^ *```.*?^ *```$/gms, '').replace(logsInIndex, '');
const sources = globSync('{shared,lib,bin}/**/*.ts', { cwd: root }).map(readDocument).join('\n');
const logMessages = new Set([...sources.matchAll(/\blog(?:ger\.)?\w+\(\s*'([^']+)'/g)].map(([, message]) => message));
const alarmTexts = [...alarms.values()].map(({ AlarmDescription }) => AlarmDescription).join('\n');
const widgetTitles = new Set(
  [...JSON.stringify(template).matchAll(/\\"(?:title|markdown)\\":\\"(?:## )?([^"\\]+)/g)].map(
    ([, title = '']) => title,
  ),
);
/** The logical IDs of log groups, in the order of their names. */
const logGroups = [...propertiesOf(template, 'AWS::Logs::LogGroup', z.unknown()).keys()].toSorted();
/** Returns the part of a log group's name that the runbook uses. */
const nameOf = (group: string): string =>
  group.replace(group.startsWith('ApiAccess') ? /[0-9A-F]{8}$/ : /Logs[0-9A-F]{8}$/, '');
/** The arguments of `logs` in the commands: the start of the name of a log group, and a filter pattern. */
const logCommands = [...commands.matchAll(/^logs (\w+) '([^']*)'/gm)].map(([, group = '', pattern = '']) => ({
  group,
  pattern,
}));
const jsonPatterns = logCommands.filter(({ pattern }) => pattern.startsWith('{'));

describe('the helper logs of docs/runbook.md', () => {
  it('finds the log group of every function by its name without the suffixes, though other names start with it', () => {
    expect(logGroups.length).toBeGreaterThan(20);
    for (const group of logGroups) {
      expect(logGroups.find((candidate) => candidate.startsWith(nameOf(group)))).toBe(group);
    }
  });

  it('is called with names of log groups', () => {
    expect(logCommands.length).toBeGreaterThan(5);
    for (const { group } of logCommands) expect(logGroups.map(nameOf)).toContain(group);
  });

  it.each(jsonPatterns)(
    'is called with messages and fields that the service or Lambda logs: $pattern',
    ({ pattern }) => {
      const alternatives = pattern.slice(1, -1).split('||');
      for (const { path, value } of alternatives.flatMap((each) => parseFilterPattern(`{ ${each.trim()} }`))) {
        const [field = ''] = path;
        if (field === 'message') expect(logMessages).toContain(value);
        else expect(sources).toMatch(new RegExp(`\\b${field}\\b`));
      }
    },
  );
});

describe('docs/runbook.md quotes', () => {
  it('only log messages, and titles of the dashboard, whose units and details it may omit', () => {
    const quoted = [...prose.matchAll(/"([^"\n]+)"/g)].map(([, text]) => text);
    expect(quoted.length).toBeGreaterThan(0);
    const isTitle = (text = '') =>
      [...widgetTitles].some((title) => title.split(/[,:] /)[0] === text || title === text);
    expect(quoted.filter((text) => !logMessages.has(text) && !isTitle(text))).toEqual([]);
  });

  it('only reasons of failures in its lists of reasons', () => {
    const heads = [...runbook.matchAll(/^- (?:`[a-z_]+`(?:, )?)+/gm)].map(([head]) => head);
    const reasons = heads.flatMap((head) => [...head.matchAll(/\w+/g)].map(([name]) => name));
    expect(reasons.length).toBeGreaterThan(10);
    for (const reason of reasons) expect(failureReasons).toContain(reason);
  });

  it('only names of settings, metrics and fields, phrases and resources that exist in the code', () => {
    const names = [
      ...prose.matchAll(/`([a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z]\w*)+|(?!cdk |ops )[a-z]+(?: [a-z]+)+)`/g),
    ].flatMap(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(20);
    const known = `${sources}\n${JSON.stringify(template)}`;
    expect(names.filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('alarm descriptions', () => {
  it('quote only log messages', () => {
    const quoted = [...alarmTexts.matchAll(/"([^"]+)"/g)].map(([, text]) => text);
    expect(quoted.length).toBeGreaterThan(1);
    expect(quoted.filter((text) => !logMessages.has(text))).toEqual([]);
  });

  it.each([...alarms])(
    'contain the impact, the first step and the runbook section in less than 500 characters: %s',
    (_, { AlarmDescription }) => {
      expect(AlarmDescription).toMatch(/^.{20,}[.] First step: .{10,}[.] docs\/runbook\.md#/);
      expect(AlarmDescription.length).toBeLessThan(500);
    },
  );

  it('contain links with the setting runbookUrl', () => {
    const { template: other } = synthesize(otherSettings);
    const linked = [...propertiesOf(other, 'AWS::CloudWatch::Alarm', description).values()];
    expect(linked.length).toBeGreaterThan(10);
    for (const { AlarmDescription } of linked)
      expect(AlarmDescription).toMatch(/ https:\/\/wiki\.example\.org\/x+#[a-z0-9-]+$/);
  });
});
