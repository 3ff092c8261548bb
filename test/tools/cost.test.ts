import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as z from 'zod';

const cost = (...args: string[]) => promisify(execFile)(process.execPath, ['bin/cost.ts', ...args]);

const bill = z.looseObject({
  total_usd: z.number(),
  parts: z.array(z.object({ part: z.string(), usd: z.number() })),
  assumptions: z.array(z.string()),
});

it('npm run cost prints the bill of a month, with settings that add resources or remove them, and what it assumes', async () => {
  const load = ['--events', '5000000', '--destinations', '1.4', '--types', 'webhook=0.5,sms=0.5'];
  const settings = ['-c', 'egress=static', '-c', 'developmentStage=true'];
  const [{ stdout: text }, { stdout: json }] = await Promise.all([
    cost(...load, ...settings),
    cost(...load, ...settings, '--json'),
  ]);
  const { total_usd: totalUsd, parts, assumptions } = bill.parse(JSON.parse(json));
  expect(parts.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(totalUsd);
  expect(parts.map(({ part }) => part)).toEqual(expect.arrayContaining(['email and SMS', 'idle: static egress']));
  expect(parts.map(({ part }) => part)).not.toContain('idle: dashboard');
  expect(text.replaceAll(',', '')).toContain(`$${totalUsd.toFixed(2)}`);
  for (const assumption of assumptions) expect(text).toContain(assumption);
});

it.each([
  [['--destinations', '1'], '--events'],
  [['--events', '-5'], 'It must be a number from 0'],
  [['--events', '5', '--batch', '11'], 'It must be a number from 1 to 10'],
  [['--events', '5', '--types', 'webhook=0.5'], 'Write shares that add up to 1'],
  [['--events', '5', '-c', 'nothing=1'], 'nothing'],
])('npm run cost rejects the arguments %j', async (args, message) => {
  await expect(cost(...args)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
});
