import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { settingNames } from '../../lib/settings.ts';
import { endpointNames, endpoints } from '../../shared/contracts/endpoints.ts';
import { notificationTypeIds } from '../../shared/contracts/notification-types.ts';
import { errorStatus } from '../../shared/domain/errors.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const [, settings = ''] = readme.split('### Settings');

it('the README names every setting in its table, and no other', () => {
  const rows =
    settings
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| `')) ?? [];
  const named = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.toSorted()).toEqual([...settingNames, 'stackName'].toSorted());
});

it('the README names every type, every type of error, and the path of every operation', () => {
  for (const type of [...notificationTypeIds, ...Object.keys(errorStatus)]) expect(readme).toContain(`\`${type}\``);
  for (const name of endpointNames) {
    expect(readme).toContain(endpoints[name].path.replace(/\{\w+\}/, '{id}'));
  }
});
