import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import * as z from 'zod';

const cost = (...args: string[]) => promisify(execFile)(process.execPath, ['bin/cost.ts', ...args]);

const bill = z.looseObject({
  total_usd: z.number(),
  parts: z.array(z.object({ part: z.string(), usage: z.string(), usd: z.number() })),
  assumptions: z.array(z.string()),
});

it('npm run cost computes the bill of a month, with each assumption', async () => {
  const load = ['--events', '5000000', '--destinations', '1.4', '--batch', '1'];
  const [{ stdout: text }, { stdout: json }] = await Promise.all([cost(...load), cost(...load, '--json')]);
  const { total_usd: totalUsd, parts, assumptions } = bill.parse(JSON.parse(json));
  expect(parts.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(totalUsd);
  expect(text).toContain(`$${totalUsd.toFixed(2)}`);
  for (const assumption of assumptions) expect(text).toContain(assumption);
  expect(assumptions.join('\n')).toContain('Alarm events: 5,000,000');
});

it('npm run cost includes settings that add resources, and the types of destinations', async () => {
  const load = ['--events', '1', '--json'];
  const [plain, other] = await Promise.all([
    cost(...load),
    cost(...load, '-c', 'egress=static', '--types', 'webhook=0.5,sms=0.5'),
  ]);
  const [first, second] = [plain, other].map(({ stdout }) => bill.parse(JSON.parse(stdout)));
  expect((second?.total_usd ?? 0) - (first?.total_usd ?? 0)).toBeGreaterThan(73);
  expect(second?.parts.map(({ part }) => part)).toContain('email and SMS');
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
